# SPDX-License-Identifier: Apache-2.0
"""Holds reports against the committed schema: those given must pass, and broken copies must not.

    schema_test.py SCHEMA REPORT...

Exits with 77 (CTest: skipped) and says why when the validator is not installed.
"""
import copy
import json
import os
import sys

try:
    from jsonschema import Draft7Validator
except ImportError:
    print("SKIPPED: the Python package jsonschema (python3-jsonschema) is not installed")
    sys.exit(77)


FOR_EDITS = 50_000  # bytes: each edit validates the whole report
SECTIONS = {"calibration", "power", "search", "laws"}


def edits_of_search(n, report, edit):
    def search(r):
        return r["search"]["searches"][n]

    for key in search(report):
        yield edit(f"a search without {key}", lambda r: search(r).pop(key))
    yield edit("a search with something unknown", lambda r: search(r).update(surprise=1))
    yield edit("a coverage in words", lambda r: search(r)["coverage"]["cases"].update(x={"many": 1}))
    for i, finding in enumerate(search(report)["findings"]):
        for key in finding:
            yield edit(f"a finding without {key}", lambda r: search(r)["findings"][i].pop(key))


def edits(report):
    """Broken copies of a report, each with what is wrong in it."""

    def edit(what, change):
        broken = copy.deepcopy(report)
        change(broken)
        return what, broken

    if report.get("kind") == "bench":
        yield from bench_edits(report, edit)
        return
    yield edit("another schema number", lambda r: r.update(schema=3))
    yield edit("an unknown member", lambda r: r.update(surprise=1))
    for key in set(report) - SECTIONS:
        yield edit(f"no {key}", lambda r: r.pop(key))
    for section in SECTIONS & set(report):
        for key in report[section]:
            yield edit(f"a {section} without {key}", lambda r: r[section].pop(key))
    for search in range(len(report.get("search", {}).get("searches", []))):
        yield from edits_of_search(search, report, edit)
    if not report["cases"]:
        return
    yield edit("a state that does not exist", lambda r: r["cases"][0]["verdict"].update(state="GOOD"))
    yield edit("a case without its line", lambda r: r["cases"][0].pop("line"))
    yield edit("null for a number", lambda r: tensor(r).update(max_z=None))
    yield edit("NaN in other letters", lambda r: tensor(r).update(max_z="NaN"))
    yield edit("a negative count", lambda r: tensor(r).update(nan=-1))
    yield edit("an element without a place", lambda r: tensor(r)["worst"][0].pop("where"))


def bench_edits(report, edit):
    """Of a report of times, whose first row has some."""
    yield edit("another kind", lambda r: r.update(kind="verify"))
    yield edit("an unknown member", lambda r: r.update(surprise=1))
    for key in set(report) - {"complete"}:
        yield edit(f"no {key}", lambda r: r.pop(key))
    yield edit("a row with rounds and no median", lambda r: r["rows"][0].pop("median_ms"))
    yield edit("a negative time", lambda r: r["rows"][0].update(median_ms=-1))
    yield edit("a state that does not exist", lambda r: r["rows"][0].update(gate="GOOD"))
    yield edit("a pass that does not exist", lambda r: r["rows"][0].update(**{"pass": "sideways"}))
    yield edit("a ratio without its peer", lambda r: r["ratios"][0].pop("peer"))


def tensor(report):
    for case in report["cases"]:
        for one in case["verdict"]["tensors"]:
            if one["worst"]:
                return one
    raise SystemExit("no tensor with a worst element in the report")


def main(schema_path, *report_paths):
    with open(schema_path) as file:
        schema = json.load(file)
    Draft7Validator.check_schema(schema)
    validator = Draft7Validator(schema)
    faults = []
    for path in report_paths:
        with open(path) as file:
            report = json.load(file)
        for error in validator.iter_errors(report):
            faults.append(f"{path}: {'/'.join(map(str, error.absolute_path))}: {error.message}")
        if os.path.getsize(path) > FOR_EDITS:
            continue
        for what, broken in edits(report):
            if validator.is_valid(broken):
                faults.append(f"{path}: the schema accepts {what}")
    print("\n".join(faults) or f"{len(report_paths)} reports follow the schema")
    return 1 if faults or not report_paths else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
