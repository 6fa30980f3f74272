"""Writing event files from the files of runs: python3 tests/python/test_events.py RUNS

RUNS has the runs `plain` and `drawn` of tests/system/test_analyze.sh. The files are read by a reader of their format in
this test; test_studies.py reads them with tensorboard.
"""

import contextlib
import errno
import io
import json
import math
import os
import pathlib
import shutil
import struct
import sys
import time
import unittest
import unittest.mock

from support import FolderCase
import longhand
from longhand import events

RUNS = pathlib.Path(sys.argv[1])


def compute_bitwise(data):
    """The CRC-32C of bytes, by its definition."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ 0x82F63B78 * (crc & 1)
    return crc ^ 0xFFFFFFFF


def decode_integer(data, place):
    value = shift = 0
    while True:
        byte = data[place]
        value, shift, place = value | (byte & 127) << shift, shift + 7, place + 1
        if byte < 128:
            return value, place


def decode_fields(data):
    """The fields of a protocol buffer: [(number, value)]."""
    fields, place = [], 0
    while place < len(data):
        kind, (number, place) = data[place] & 7, (data[place] >> 3, place + 1)
        if kind == 0:
            value, place = decode_integer(data, place)
        else:
            size, place = {1: (8, place), 5: (4, place)}.get(kind) or decode_integer(data, place)
            value, place = data[place:place + size], place + size
            value = struct.unpack({1: "<d", 5: "<f"}[kind], value)[0] if kind in (1, 5) else value
        fields.append((number, value))
    return fields


def read_events(path):
    """The records of an event file: [(time, step, {name: value})] for summaries, else the fields of the event."""
    data, events = path.read_bytes(), []
    while data:
        size, = struct.unpack_from("<Q", data)
        event = data[12:12 + size]
        for covered, place in (data[:8], 8), (event, 12 + size):
            crc = compute_bitwise(covered)
            assert struct.unpack_from("<I", data, place)[0] == ((crc >> 15 | crc << 17) + 0xA282EAD8) % 2**32
        fields, data = decode_fields(event), data[16 + size:]
        if len(fields) == 3:
            (_, seconds), (_, step), (_, summary) = fields
            values = [dict(decode_fields(value)) for _, value in decode_fields(summary)]
            fields = seconds, step, {value[1].decode(): value[2] for value in values}
        events.append(fields)
    return events


class TestEvents(FolderCase):
    def export(self, runs, *flags):
        """Exports a folder of runs to the folder `out`. Returns the exit code and the error output."""
        with contextlib.redirect_stdout(io.StringIO()), contextlib.redirect_stderr(io.StringIO()) as printed:
            code = events.main([str(runs), str(self.folder / "out"), *flags])
        return code, printed.getvalue()

    def export_with_damage(self, text, mode="w", name="runs"):
        """Exports copies of the runs, of which the first has this text in eval.jsonl."""
        shutil.copytree(RUNS, self.folder / name)
        with open(pathlib.Path(longhand.runs(self.folder / name)[0].path, "eval.jsonl"), mode) as file:
            file.write(text)
        return self.export(self.folder / name)

    def begin_run(self, place):
        """Makes a run that has not ended, with two of the lines of metrics of `plain`. Returns its folder, and a
        function that writes more of its files: lines of metrics, evaluations at step 20, an exit code."""
        source = longhand.runs(RUNS)[1]
        metrics, last = source.metrics(), source.evaluations()
        folder = self.folder / "runs" / place
        folder.mkdir(parents=True)

        def write(count, during=(), exit=None):
            lines = [{**line, "step": 20, "split": "during", "accuracy": value} for line, value in zip(last, during)]
            for name, texts in ("metrics", metrics[:count]), ("eval", lines + (last if exit is not None else [])):
                (folder / f"{name}.jsonl").write_text("".join(json.dumps(text) + "\n" for text in texts))
            info = {key: value for key, value in source.info.items() if key not in ("ended", "exit")}
            (folder / "run.json").write_text(json.dumps(info if exit is None else {**info, "exit": exit}))

        write(2)
        return folder, write

    def find_file(self, *place):
        found, = self.folder.joinpath("out", *place).glob("*")
        return found

    def test_checksums_are_those_of_the_standard(self):
        self.assertEqual([events.compute_checksum(b"123456789"), compute_bitwise(b"123456789")], [0xE3069283] * 2)

    def test_events_hold_metrics_and_evaluations(self):
        run = longhand.runs(RUNS)[1]
        self.assertEqual(self.export(RUNS)[0], 0)
        version, session, *found = read_events(self.find_file(*pathlib.Path(run.path).parts[-3:]))
        self.assertEqual([version[1], session[1]], [(3, b"brain.Event:2"), (7, b"\x08\x01")])
        metrics, evaluations = run.metrics(), run.evaluations()
        self.assertEqual([event[1] for event in found], [10, 20, 30, 4, 8])
        for (seconds, _, values), line in zip(found, metrics):
            self.assertAlmostEqual(seconds - version[0][1], line["seconds"], places=5)
            self.assertAlmostEqual(values["training/loss"], line["loss"], places=6)
            self.assertNotIn("training/step", values)
        for (_, _, values), line, split in zip(found[3:], evaluations, ("in_distribution", "beyond")):
            self.assertAlmostEqual(values[f"{split}_by_length/accuracy"], line["accuracy"], places=6)

    def test_following_appends_events(self):
        folder, write = self.begin_run("plain/d/lr1-seed0")
        export = events._Export(self.folder / "runs", self.folder / "out", True)
        sizes = []
        for count, during, exit, steps in ((2, (), None, [10, 20]), (2, (0.5, 1.0), None, [10, 20]),
                                           (3, (0.5, 1.0), None, [10, 20, 20, 30]),
                                           (3, (0.5, 1.0), 75, [10, 20, 20, 30]),
                                           (3, (0.5, 1.0), 0, [10, 20, 20, 30, 4, 8])):
            write(count, during, exit)
            if exit == 0:
                self.export(self.folder / "runs")  # another export, which does not follow
            self.assertTrue(export.update())
            self.assertFalse(export.update())
            self.assertEqual(export.is_training, exit != 0)
            path = self.find_file("plain", "d", "lr1-seed0")
            found = read_events(path)[2:]
            self.assertEqual([event[1] for event in found], steps)
            sizes.append(path.stat().st_size)
        self.assertEqual([path.name, sizes], ["events.out.tfevents.00000001.longhand", sorted(sizes)])
        self.assertEqual(found[2][2]["during/all/accuracy"], 0.75)

    def test_an_export_completes_a_file_that_was_cut(self):
        self.begin_run("plain/d/lr1-seed0")[1](3, (0.5,), 0)
        self.export(self.folder / "runs")
        path = self.find_file("plain", "d", "lr1-seed0")
        whole = path.read_bytes()
        for size in 0, 5, 40, 200, len(whole) - 1, len(whole):
            path.write_bytes(whole[:size])
            self.assertEqual(self.export(self.folder / "runs"), (0, ""))
            path = self.find_file("plain", "d", "lr1-seed0")
            self.assertEqual(path.read_bytes(), whole)

    def test_changed_lines_begin_a_new_file(self):
        folder, write = self.begin_run("plain/d/lr1-seed0")
        export = events._Export(self.folder / "runs", self.folder / "out", True)
        write(3)
        export.update()
        lines = (folder / "metrics.jsonl").read_text().splitlines()
        for text in lines[:2], [*lines[:2], lines[2].replace('"loss": 0.', '"loss": 1.')]:
            (folder / "metrics.jsonl").write_text("\n".join(text) + "\n")
            export.update()
        path = self.find_file("plain", "d", "lr1-seed0")
        self.assertEqual(path.name, "events.out.tfevents.00000002.longhand")
        self.assertGreater(read_events(path)[-1][2]["training/loss"], 1)

    def test_attempts_of_clusters_are_followed(self):
        attempt = "plain/d/.attempts/7_1-{}/plain/d/lr1-seed0"
        self.begin_run(attempt.format(1))
        self.begin_run(attempt.format(2))[1](3)
        self.begin_run("plain/d/.attempts/7_1-2/replaced/lr1-seed0")
        export = events._Export(self.folder / "runs", self.folder / "out", True)
        export.update()
        path = self.find_file("plain", "d", "lr1-seed0")
        self.assertEqual([export.count, [event[1] for event in read_events(path)[2:]]], [1, [10, 20, 30]])
        self.begin_run("plain/d/lr1-seed0")[1](3, exit=0)  # the finished run is moved to its own folder
        export.update()
        self.assertEqual([event[1] for event in read_events(path)[2:]], [10, 20, 30, 4, 8])

    def test_following_does_not_wait_for_dead_runs(self):
        folders = []
        for name, exit in ("killed", None), ("stopped", 75):
            folder, write = self.begin_run(f"plain/d/{name}")
            write(2, exit=exit)
            folders.append(folder)
        export = events._Export(self.folder / "runs", self.folder / "out", True)
        export.update()
        self.assertTrue(export.is_training)
        with unittest.mock.patch.object(events, "QUIET_UNENDED", 0):
            self.assertFalse(export.is_training)
        shutil.rmtree(folders[0])
        self.assertTrue(export.update())
        self.assertTrue(export.is_training)  # the stopped run may continue
        shutil.rmtree(folders[1])
        export.update()
        self.assertFalse(export.is_training)

        folder, _ = self.begin_run("plain/d/killed")
        past = time.time() - events.QUIET_UNENDED - 1
        for path in folder.iterdir():
            os.utime(path, (past, past))
        export = events._Export(self.folder / "runs", self.folder / "out", True)
        export.update()
        self.assertFalse(export.is_training)
        with unittest.mock.patch.multiple(events, PAUSE=0.01, QUIET_ENDED=0.02):
            self.assertEqual(self.export(self.folder / "runs", "--follow"), (0, ""))
        os.utime(folder / "metrics.jsonl")
        export.update()
        self.assertTrue(export.is_training)

    def test_following_ends_after_the_runs(self):
        with unittest.mock.patch.multiple(events, PAUSE=0.01, QUIET_ENDED=0.02):
            self.assertEqual(self.export(RUNS, "--follow"), (0, ""))
        self.assertEqual(self.export(RUNS, "--folow")[0], 2)

    def test_nothing_is_written_or_deleted_through_a_link(self):
        theirs, out = self.folder / "theirs", self.folder / "out"
        run, other = longhand.runs(RUNS)
        place = pathlib.Path(*pathlib.Path(run.path).parts[-3:])
        (theirs / place.name).mkdir(parents=True)
        (theirs / place.name / "events.out.tfevents.1").write_text("keep")
        (out / place.parts[0]).mkdir(parents=True)
        (out / place.parts[0] / place.parts[1]).symlink_to(theirs)
        code, printed = self.export(RUNS)
        self.assertEqual(code, 1)
        self.assertIn(f"{out / place.parts[0] / place.parts[1]}: found a link", printed)
        self.assertEqual((theirs / place.name / "events.out.tfevents.1").read_text(), "keep")
        self.assertTrue(list(out.glob(f"{other.id}/*/*/events.out.*")))  # the other runs are exported

    def test_damaged_runs_are_left_out_and_reported(self):
        code, printed = self.export_with_damage("{\n")
        self.assertEqual(code, 1)
        self.assertIn("eval.jsonl: line 1", printed)
        self.assertEqual([path.parts[-4] for path in (self.folder / "out").glob("*/*/*/*")], ["plain"])

    def test_numbers_of_any_size_are_exported(self):
        folder, _ = self.begin_run("plain/d/lr1-seed0")
        (folder / "metrics.jsonl").write_text(f'{{"step":7,"loss":1,"far":1e300,"more":{10**400}}}\n')
        (folder / "eval.jsonl").write_text("".join(
            f'{{"step":7,"split":"during","by":{{"length":{length}}},"loss":1e308,"own":{own}}}\n'
            for length, own in ((4, "Infinity"), (8, "-Infinity"))))
        self.assertEqual(self.export(self.folder / "runs"), (0, ""))
        metrics, during = (values for _, _, values in read_events(self.find_file("plain", "d", "lr1-seed0"))[2:])
        self.assertEqual(metrics, {"training/loss": 1, "training/far": math.inf})
        self.assertEqual([during["during/all/loss"], math.isnan(during["during/all/own"])], [math.inf, True])

    def test_torn_lines_are_reported(self):
        code, printed = self.export_with_damage('{"step"', "a")
        self.assertEqual(code, 0)
        self.assertRegex(printed, r"eval.jsonl: line \d+ is torn and was skipped")

    def test_control_characters_of_files_do_not_reach_the_terminal(self):
        self.assertNotIn("\33", self.export_with_damage("{\n", name="runs\33[2J")[1])

    def test_a_full_disk_leaves_whole_events(self):
        folder, write = self.begin_run("plain/d/lr1-seed0")
        self.export(self.folder / "runs")
        path = self.find_file("plain", "d", "lr1-seed0")
        before, write_bytes, calls = path.read_bytes(), os.write, []

        def fill(handle, data):
            calls.append(len(data))
            if len(calls) > 1:
                raise OSError(errno.ENOSPC, "No space left on device")
            return write_bytes(handle, data[:7])

        write(3)
        with unittest.mock.patch.object(events.os, "write", fill):
            self.assertEqual(self.export(self.folder / "runs"),
                             (4, f"longhand export tensorboard: {path}: No space left on device\n"))
        self.assertEqual(path.read_bytes(), before)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
