"""The contenders that cpu.py times on the processor: our trainers, and the peers in processes of their own."""

import contextlib
import json
import os
import pathlib
import shutil
import subprocess
import sys

from process import Failed, Process

ROOT = pathlib.Path(__file__).resolve().parents[2]
ISA = {  # variables that restrict peers to this level; peers cannot be restricted to other levels
    "x86-64-v3": {"ATEN_CPU_CAPABILITY": "avx2", "ONEDNN_MAX_CPU_ISA": "AVX2", "MKL_ENABLE_INSTRUCTIONS": "AVX2",
                  "XLA_FLAGS": "--xla_cpu_max_isa=AVX2", "OPENBLAS_CORETYPE": "Haswell", "LIBXSMM_TARGET": "hsw"},
}
BATCH = 128
LONG_BATCH, LONG = 16, 100  # sequences of LONG tokens or more have LONG_BATCH, since a step of a peer takes seconds
MODELS = {"encoder": 'use = "ruoss_encoder"',
          "decoder": 'use = "ruoss_decoder", norm = { place = "pre" }, activation = "swiglu"'}


def choose_batch(tokens):
    return BATCH if tokens < LONG else LONG_BATCH


def name_case(case):
    """case: model, mode ("train" or "eval"), and tokens of a sequence."""
    return f"{case[0]}.{case[1]}.{case[2]}"


def has_module(python, *modules):
    code = "import importlib.util, sys; sys.exit(any(importlib.util.find_spec(m) is None for m in sys.argv[1:]))"
    try:
        return subprocess.run([python, "-c", code, *modules], capture_output=True, check=False).returncode == 0
    except OSError:
        return False


def find_usable(names, python):
    """Returns the named frameworks that can run, and a line for each that cannot."""
    usable, skipped = [], []
    cxx = os.environ.get("CXX", "g++")
    for peer, variable, module in (("eager", "PYTORCH", "torch"), ("compile", "PYTORCH", "torch"),
                                   ("jax", "JAX", "jax")):
        if peer not in names:
            continue
        if not has_module(python[variable], module, "numpy"):
            skipped.append(f"{peer}: {python[variable]} has no {module} or no numpy; pip install {module} numpy, or "
                           f"name an interpreter: {variable}=...")
        elif peer == "compile" and shutil.which(cxx) is None:
            skipped.append(f"compile: torch.compile needs a C++ compiler, and there is no {cxx}; apt-get install g++, "
                           "or name one: CXX=...")
        else:
            usable.append(peer)
    return usable, skipped


class Trainers:
    """A trainer for each model and batch size, and for each model a checkpoint and logits at every timed length."""

    def __init__(self, folder, levels):
        self.folder, self.levels = folder, levels
        self.reference = folder / "reference"
        self.reference.mkdir(parents=True, exist_ok=True)

    def run(self, arguments, level=None, **more):
        words = list(map(str, arguments))
        environment = {name: value for name, value in os.environ.items() if name != "LONGHAND_ISA"}
        environment |= {"LONGHAND_ISA": level} if level else {}
        process = subprocess.run(words, cwd=ROOT, env=environment, capture_output=True, text=True, check=False, **more)
        if process.returncode != 0:
            print(f"bench-peers: {' '.join(words)}\n{process.stderr}", file=sys.stderr)
            sys.exit(process.returncode)
        return process.stdout

    def get_trainer(self, model, tokens):
        return self.folder / f"{model}_{choose_batch(tokens)}" / "trainer"

    def get_weights(self, model):
        return self.reference / f"{model}.safetensors"

    def build(self, model, tokens):
        name = f"{model}_{choose_batch(tokens)}"
        spec = self.folder / f"{name}.lua"
        spec.write_text(f"""return {{
  task = {{ kind = "parity_check" }}, encoding = {{ kind = "sinusoid" }}, model = {{ {MODELS[model]} }},
  train = {{ use = "ruoss", lengths = {{ 1, 79 }}, batch = {choose_batch(tokens)} }}, eval = {{ use = "ruoss" }},
}}
""")
        self.run(["./longhand", "build", spec, "--levels", self.levels, "--out", self.folder / name])

    def write_reference(self, model, lengths):
        """Writes a checkpoint of some steps, and its logits for four sequences of each number of tokens."""
        trainer, run = self.get_trainer(model, lengths[0]), self.folder / f"{model}_run"
        shutil.rmtree(run, ignore_errors=True)
        self.run([trainer, "train", "--steps", 20, "--no-eval", "--out", run])
        shutil.copy(next(run.glob("*/*/*/checkpoint.safetensors")), self.get_weights(model))
        for tokens in lengths:
            samples = self.run([trainer, "sample", "--length", tokens - 1, "--count", 4, "--seed", 7])
            inputs = "".join(json.dumps({"input": json.loads(line)["input"]}) + "\n" for line in samples.splitlines())
            stem = f"{model}.parity_{tokens - 1}"
            (self.reference / f"{stem}.inputs.jsonl").write_text(inputs)
            logits = self.run([trainer, "predict", "--checkpoint", self.get_weights(model)], input=inputs)
            (self.reference / f"{stem}.logits.jsonl").write_text(logits)

    def time(self, case, level, threads, seconds):
        """Returns a line of `trainer bench` over one window, whose mean includes stalls, as the peers' rates do."""
        model, mode, tokens = case
        reply = self.run([self.get_trainer(model, tokens), "bench", "--json", "--mode", mode, "--lengths", tokens - 1,
                         "--windows", 1, "--seconds", seconds, "--threads", threads], level)
        return json.loads(reply)


class Ours:
    """Longhand as a contender, measured by `trainer bench`. Its methods are those of Peer."""

    def __init__(self, trainers, level, threads, by_processor):
        """threads: the numbers of threads to try. by_processor: rates are steps per second of processor time."""
        self.trainers, self.level, self.by_processor = trainers, level, by_processor
        self.settings = [{"threads": n} for n in threads]

    def prepare(self, case, setting, best):
        return {}

    def time(self, case, setting, seconds):
        line = self.trainers.time(case, self.level, setting["threads"], seconds)
        rate = 1 / line["processor_seconds_per_step"] if self.by_processor else line["steps_per_second"]
        return {"rate": rate, "share": line["share_of_peak"]}

    def get_versions(self):
        return set()

    def forget(self):
        pass

    def end(self):
        pass


class Peer:
    """A contender in processes of its own, one for each number of threads and wait policy."""

    def __init__(self, name, python, trainers, level, threads, by_processor, patience):
        """patience: seconds to wait for an answer. threads, by_processor: see Ours."""
        self.name, self.python, self.trainers, self.level = name, python, trainers, level
        self.by_processor, self.patience, self.processes = by_processor, patience, {}
        policies = lambda n: ("passive",) if n == 1 or name == "jax" else ("passive", "active")
        forms = ("sdpa", "plain") if name == "eager" else ("",)
        self.settings = [{"threads": n, "policy": policy, "form": form}
                         for form in forms for n in threads for policy in policies(n)]

    def get_process(self, setting):
        """Returns the process for a setting, which starts with its first request."""
        script = "jax_cpu.py" if self.name == "jax" else "pytorch_cpu.py"
        key = (setting["threads"], setting["policy"])
        if key not in self.processes:
            threads = str(setting["threads"])
            environment = os.environ | ISA.get(self.level, {}) | {
                "LONGHAND_PEER_THREADS": threads, "OMP_NUM_THREADS": threads, "MKL_NUM_THREADS": threads,
                "NPROC": threads, "OMP_WAIT_POLICY": setting["policy"],
                "TORCHINDUCTOR_CACHE_DIR": str(self.trainers.folder / f"inductor-{self.level}")}
            self.processes[key] = Process([self.python, str(ROOT / "tests/peers" / script)], environment,
                                          self.trainers.folder / "workers.log")
        return self.processes[key]

    def prepare(self, case, setting, best):
        """best: the best settings of earlier contenders; a compiled variant uses eager's form of attention."""
        model, mode, tokens = case
        form = setting["form"] or best.get("eager", {"form": "plain"})["form"]
        fields = {"encoding": "sinusoid", "tokens": tokens, "labels": 1, "precision": "float32", "replicas": 1,
                  "variant": self.name, "form": form if self.name != "jax" else "plain", "model": model}
        return self.get_process(setting).ask(
            {"do": "prepare", "key": name_case(case) + setting["form"], "case": fields, "mode": mode,
             "batch": choose_batch(tokens), "weights": str(self.trainers.get_weights(model)),
             "reference": str(self.trainers.reference)}, self.patience)

    def time(self, case, setting, seconds):
        question = {"do": "time", "key": name_case(case) + setting["form"], "seconds": seconds}
        reply = self.get_process(setting).ask(question, self.patience)
        return {"rate": reply["steps"] / reply["processor_seconds" if self.by_processor else "seconds"]}

    def get_versions(self):
        return {process.version for process in self.processes.values() if process.version}

    def forget(self):
        for process in self.processes.values():
            if process.running:
                with contextlib.suppress(Failed):
                    process.ask({"do": "forget"}, self.patience)

    def end(self):
        for process in self.processes.values():
            process.end()
