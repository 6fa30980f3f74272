/* See json_lines.h. */
#define _GNU_SOURCE
#include "base/json_lines.h"

#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/files.h"

/* Reads `bytes` bytes from `offset` on; a shorter file is an error. */
static lh_status read_bytes(int file, const char *path, off_t offset, char *text, size_t bytes, lh_error *error) {
    while (bytes > 0) {
        ssize_t bytes_now = pread(file, text, bytes, offset);
        if (bytes_now < 0 && errno == EINTR) continue;
        if (bytes_now < 0) return lh_fail_system(path, "cannot read", error);
        if (bytes_now == 0) return lh_fail(error, LH_ERR_ENVIRONMENT, "%s: became shorter while it was read", path);
        text += bytes_now;
        offset += bytes_now;
        bytes -= (size_t)bytes_now;
    }
    return LH_OK;
}

/* If the last line lacks its newline, sets *tail to the offset at which this line begins. If the file ends with a
 * newline or is empty, sets *tail to size. */
static lh_status find_tail(int file, const char *path, off_t size, off_t *tail, lh_error *error) {
    char piece[4096];
    *tail = size;
    for (off_t end = size; end > 0;) {
        size_t bytes = end < (off_t)sizeof piece ? (size_t)end : sizeof piece;
        lh_status status = read_bytes(file, path, end - (off_t)bytes, piece, bytes, error);
        if (status != LH_OK) return status;
        const char *last = memrchr(piece, '\n', bytes);
        end -= (off_t)bytes;
        *tail = last != NULL ? end + (last - piece) + 1 : end;
        if (last != NULL) return LH_OK;
    }
    return LH_OK;
}

/* Sets *is_complete to whether the last line, from `tail` on, lacks only its newline. A truncated line does not
 * parse as an object. */
static lh_status check_complete(int file, const char *path, off_t tail, off_t size, bool *is_complete,
                                lh_error *error) {
    size_t bytes = (size_t)(size - tail);
    char *text = malloc(bytes);
    if (text == NULL) return lh_fail_memory(path, error);
    lh_status status = read_bytes(file, path, tail, text, bytes, error);
    json_t *line = status == LH_OK ? json_loadb(text, bytes, 0, NULL) : NULL;
    *is_complete = json_is_object(line);
    json_decref(line);
    free(text);
    return status;
}

/* Cuts off a torn last line. *size: the new size; *lacks_newline: whether a complete last line lacks its newline. */
static lh_status remove_torn_line(int file, const char *path, off_t *size, bool *lacks_newline, lh_error *error) {
    off_t tail;
    *lacks_newline = false;
    lh_status status = find_tail(file, path, *size, &tail, error);
    if (status != LH_OK || tail == *size) return status;
    status = check_complete(file, path, tail, *size, lacks_newline, error);
    if (status != LH_OK || *lacks_newline) return status;
    if (ftruncate(file, tail) != 0) return lh_fail_system(path, "cannot cut off the torn last line", error);
    *size = tail;
    return LH_OK;
}

/* Appends a line by one write; a short write is undone. */
static lh_status append_to_file(int file, const char *path, const char *line, lh_error *error) {
    struct stat attributes;
    bool lacks_newline;
    char *text;
    if (fstat(file, &attributes) != 0) return lh_fail_system(path, "cannot read the size", error);
    lh_status status = remove_torn_line(file, path, &attributes.st_size, &lacks_newline, error);
    if (status != LH_OK) return status;
    int bytes = asprintf(&text, "%s%s\n", lacks_newline ? "\n" : "", line);
    if (bytes < 0) return lh_fail_memory(path, error);
    ssize_t written;
    do {
        written = write(file, text, (size_t)bytes);
    } while (written < 0 && errno == EINTR);
    if (written < 0) {
        status = lh_fail_system(path, "cannot write", error);
    } else if (written < bytes) {
        status = lh_fail(error, LH_ERR_ENVIRONMENT, "%s: wrote %zd of %d bytes: no space left?", path, written, bytes);
        /* If ftruncate fails too, a torn line stays, which readers skip. The assignment does not change the status; it
         * only uses the result of ftruncate, because some compilers warn about an unused result. */
        if (ftruncate(file, attributes.st_size) != 0) status = LH_ERR_ENVIRONMENT;
    }
    free(text);
    return status;
}

lh_status lh_append_line(const char *path, const char *line, lh_error *error) {
    int file;
    lh_status status = lh_open_file(path, O_RDWR | O_CREAT | O_APPEND, &file, error);
    if (status != LH_OK) return status;
    status = append_to_file(file, path, line, error);
    if (close(file) != 0 && status == LH_OK) status = lh_fail_system(path, "cannot close", error);
    return status;
}

/* Returns 1 if the line must be kept, 0 if its integer field `key` exceeds `last`, -1 if it is not a JSON object with
 * such a field. */
static int classify_line(const char *line, size_t bytes, const char *key, int64_t last) {
    json_t *object = json_loadb(line, bytes, JSON_REJECT_DUPLICATES, NULL);
    json_t *value = json_object_get(object, key);
    int kind = json_is_integer(value) ? json_integer_value(value) <= last : -1;
    json_decref(object);
    return kind;
}

/* Copies the lines to keep, each with a newline, into kept_text, [bytes + 1]. Returns the number of bytes written. */
static size_t copy_kept_lines(const char *text, size_t bytes, const char *key, int64_t last, char *kept_text,
                              lh_truncation *truncation) {
    size_t used = 0;
    for (size_t position = 0; position < bytes;) {
        const char *end = memchr(text + position, '\n', bytes - position);
        size_t length = end ? (size_t)(end - (text + position)) : bytes - position;
        int kind = classify_line(text + position, length, key, last);
        if (kind < 0) truncation->torn_lines++;
        if (kind > 0) {
            memcpy(kept_text + used, text + position, length);
            used += length;
            kept_text[used++] = '\n';
            truncation->kept_lines++;
        }
        position += length + 1;
    }
    return used;
}

lh_status lh_truncate_lines(const char *path, const char *key, int64_t last, lh_truncation *truncation,
                            lh_error *error) {
    *truncation = (lh_truncation){.exists = access(path, F_OK) == 0 || errno != ENOENT};
    if (!truncation->exists) return LH_OK;
    char *text;
    size_t bytes;
    lh_status status = lh_read_file(path, &text, &bytes, error);
    if (status != LH_OK) return status;
    char *kept_text = malloc(bytes + 1);
    if (!kept_text) {
        free(text);
        return lh_fail_memory(path, error);
    }
    size_t used = copy_kept_lines(text, bytes, key, last, kept_text, truncation);
    if (used != bytes || memcmp(kept_text, text, bytes) != 0) status = lh_replace_file(path, kept_text, used, error);
    free(kept_text);
    free(text);
    return status;
}
