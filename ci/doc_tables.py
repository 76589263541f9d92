#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tables in the documentation that are made of committed data, so that no figure is typed.

    ci/doc_tables.py            writes them
    ci/doc_tables.py --check    exit code 1 and the file's name when one is not what the data say

A table stands between the lines

    <!-- table: NAME FILE -->
    <!-- end of table -->

NAME is a function below, FILE is relative to the folder of the tree.
"""
import json
import pathlib
import re
import statistics
import sys

TREE = pathlib.Path(__file__).resolve().parent.parent
PAGES = ["docs/LAWS.md", "docs/SEARCH.md", "fixtures/regressions/README.md"]
BLOCK = re.compile(r"(<!-- table: (\w+) (\S+) -->\n).*?(<!-- end of table -->)", re.S)


def table(head, rows):
    lines = ["| " + " | ".join(head) + " |", "|" + "---|" * len(head)]
    lines += ["| " + " | ".join(str(cell) for cell in row) + " |" for row in rows]
    return "\n".join(lines) + "\n"


def origin(report):
    return f"`{' '.join(['gdr2'] + report['argv'][1:])}`, sources {report['git_sha'][:8]}.\n\n"


def laws(report):
    """Every law with the planted faults that break it."""
    study = report["laws"]
    head = ["law", "kind", "what it says", "cases", "faults", "alone", "for example"]
    rows = [[f"`{law['name']}`", law["kind"], law["statement"], law["spoken"], law["caught"],
             law["alone"], f"`{law['example']}`" if law["example"] else "none"]
            for law in study["laws"]]
    return (origin(report) + table(head, rows) +
            f"\n{study['caught']} of {len(study['faults'])} faults break a law.\n")


def shrunk(report):
    """Planted faults that a search found, and what is left of each case."""
    study = report["search"]
    rows = []
    for search in study["searches"]:
        for finding in search["findings"][:1]:
            rows.append([f"`{search['fault']}`", search["kind"], search["judged"],
                         f"`{finding['problem']}`", finding["chunks"], finding["heads"],
                         finding["K"], finding["V"], finding["law"] or "judge",
                         "yes" if finding["replays"] else "NO"])
        if not search["findings"]:
            rows.append([f"`{search['fault']}`", search["kind"], search["judged"], "not found"] + [""] * 6)
    head = ["fault", "kind", "cases", "small case", "chunks", "heads", "K", "V", "by", "replays"]
    small, median = study["small"], study["small"]["median"]
    largest = {key: max(row[i] for row in rows if row[4] != "")
               for key, i in (("chunks", 4), ("heads", 5), ("K", 6), ("V", 7))}
    checks = [f["checks"] for s in study["searches"] for f in s["findings"][:1]]
    return (origin(report) +
            f"{small['found']} of {small['searches']} faults found, {small['replayed']} replay bit for bit. "
            "Median (largest) of the small cases: " +
            ", ".join(f"{key} {median[key]:g} ({largest[key]})" for key in largest) +
            f"; {statistics.median(checks):g} checks to make one small.\n\n" + table(head, rows))


def public_reports(reports):
    """What users reported, as a case and the planted fault that it catches."""
    return table(["report", "what went wrong", "case", "fails on"],
                 [[f"[{r['report']}]({r['url']})", r["what"], f"`{r['line']}`", f"`{r['fault']}`"]
                  for r in reports])


def filled(text):
    def replace(match):
        with open(TREE / match[3]) as file:
            return match[1] + globals()[match[2]](json.load(file)) + match[4]

    return BLOCK.sub(replace, text)


def main(words):
    stale = []
    for page in PAGES:
        before = (TREE / page).read_text()
        after = filled(before)
        if after == before:
            continue
        stale.append(page)
        if words != ["--check"]:
            (TREE / page).write_text(after)
    for page in stale:
        print(f"{page}: " + ("not what the data say: run ci/doc_tables.py" if words else "written"))
    return 1 if stale and words else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
