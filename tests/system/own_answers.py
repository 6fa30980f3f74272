"""Counts a model's own answers independently of an evaluation: own_answers.py TRAINER CHECKPOINT LENGTH EXAMPLES [END].

Examples as `sample` prints them, answers as `predict` gives them, which knows no targets. Prints one line: accuracy,
exact_match, ended_early, not_ended."""
import json
import subprocess
import sys

trainer, checkpoint, length, examples = sys.argv[1:5]
end = int(sys.argv[5]) if len(sys.argv) > 5 else None
sampled = subprocess.run([trainer, "sample", "--length", length, "--count", examples], check=True, capture_output=True,
                         text=True).stdout
lines = [json.loads(line) for line in sampled.splitlines()]
asked = "".join(json.dumps({"input": line["input"]}) + "\n" for line in lines)
answered = subprocess.run([trainer, "predict", "--checkpoint", checkpoint], check=True, capture_output=True, text=True,
                          input=asked).stdout
counted = right = exact = early = open_end = 0
for line, text in zip(lines, answered.splitlines()):
    target, mask, answer = line["target"], line.get("mask") or [1] * len(line["target"]), json.loads(text)["argmax"]
    places = [i for i, m in enumerate(mask) if m]
    hits = sum(i < len(answer) and answer[i] == target[i] for i in places)
    counted, right, exact = counted + len(places), right + hits, exact + (hits == len(places))
    if end is not None:
        said = answer.index(end) if end in answer else None
        early += said is not None and said < target.index(end)
        open_end += said is None or said > target.index(end)
n = len(lines)
assert n == int(examples)
print("%.12g %.12g %.12g %.12g" % (right / counted, exact / n, early / n, open_end / n))
