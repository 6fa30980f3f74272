/* Reads a program, the lines that tests/ptx/assemble.lua writes. */
#include <fstream>
#include <sstream>

#include "machine.h"

void lh_ptx_fail(const lh_ptx_step &s, const std::string &problem) {
    throw lh_ptx_fault{"line " + std::to_string(s.line) + " of the text: " + problem};
}

static const struct {
    const char *name;
    lh_ptx_flow flow;
} FLOWS[] = {{"bra", BRANCH}, {"call", CALL}, {"ret", RETURN}, {"barrier", BARRIER}, {"sleep", SLEEP}};

/* Returns for each name of an operation a step without operands. */
static std::map<std::string, lh_ptx_step> make_operations(void) {
    std::map<std::string, lh_ptx_step> operations;
    for (const lh_ptx_operation *o = lh_ptx_operations; o->name; o++) {
        lh_ptx_step &step = operations[o->name] = {};
        step.flow = o->flow;
        step.run = o->run;
    }
    for (const auto &flow : FLOWS) operations[flow.name].flow = flow.flow;
    return operations;
}

static int find_kind(lh_ptx_program *program, const std::string &name) {
    for (size_t i = 0; i < program->kinds.size(); i++)
        if (program->kinds[i] == name) return (int)i;
    program->kinds.push_back(name);
    return (int)program->kinds.size() - 1;
}

static lh_ptx_step read_step(std::istringstream &line, lh_ptx_program *program) {
    static const std::map<std::string, lh_ptx_step> operations = make_operations();
    std::string kind, operation;
    int number = 0, guard = 0;
    line >> number >> kind >> guard >> operation;
    auto found = operations.find(operation);
    if (!line || found == operations.end())
        throw lh_ptx_fault{"line " + std::to_string(number) + " of the text: no operation \"" + operation + "\""};
    lh_ptx_step step = found->second;
    step.line = number;
    step.kind = find_kind(program, kind);
    step.guard = guard;
    for (int i = 0, operand; line >> operand; i++) {
        if (i >= MOST_OPERANDS) lh_ptx_fail(step, "too many operands");
        step.operands[i] = operand;
    }
    return step;
}

static void read_data(std::istringstream &line, lh_ptx_program *program) {
    std::string name;
    size_t align, bytes;
    line >> name >> align >> bytes;
    std::vector<unsigned char> &data = program->data[name];
    for (int byte; line >> byte;) data.push_back((unsigned char)byte);
    data.resize(bytes);
    /* A vector of bytes is aligned as malloc's memory is. */
    if (align > alignof(max_align_t)) throw lh_ptx_fault{name + ": an alignment of " + std::to_string(align)};
}

void lh_ptx_read(const char *path, lh_ptx_program *program) {
    std::ifstream file(path);
    std::vector<std::pair<int, std::string>> addresses;
    for (std::string text; std::getline(file, text);) {
        std::istringstream line(text);
        std::string word, name;
        int place = 0;
        line >> word;
        if (word == "do") program->steps.push_back(read_step(line, program));
        else if (word == "registers") line >> program->register_bytes;
        else if (word == "locals") line >> program->local_bytes;
        else if (word == "data") read_data(line, program);
        else if (word == "constant") {
            lh_ptx_program::row row = {};
            line >> row.place >> row.bytes >> std::hex >> row.bits;
            program->constants.push_back(row);
        } else if (word == "special" || word == "address") {
            line >> place >> name;
            if (word == "special") program->specials[name].push_back(place);
            else addresses.push_back({place, name});
        } else if (word == "kernel") {
            line >> name;
            lh_ptx_kernel &kernel = program->kernels[name];
            line >> kernel.first;
            for (int bytes; line >> bytes;) kernel.parameters.push_back(bytes);
        } else throw lh_ptx_fault{std::string(path) + ": \"" + text + "\" is no line of a program"};
    }
    if (program->steps.empty()) throw lh_ptx_fault{std::string(path) + ": no program"};
    for (const auto &[place, name] : addresses)
        program->constants.push_back({place, 8, (uint64_t)(uintptr_t)program->data.at(name).data()});
}
