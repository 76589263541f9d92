# SPDX-License-Identifier: Apache-2.0
"""A report of many cases, made of the cases of a small one with other seeds.

    many_cases.py REPORT.json COUNT OUT.json
"""
import copy
import json
import sys

source, count, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(source) as file:
    report = json.load(file)
small = report["cases"]
cases = []
for index in range(count):
    case = copy.copy(small[index % len(small)])
    if index >= len(small):  # what a page shows of a few cases alone stays with the first of each
        verdict = case["verdict"] = copy.copy(case["verdict"])
        verdict["tensors"] = [
            {**{k: v for k, v in t.items() if k not in ("maps", "window")}, "worst": [], "batches": []}
            for t in verdict["tensors"]
        ]
    case["index"] = index
    case["line"] = f"{case['line']} seed={index}".strip()
    case["repro"] = f"gdr2 repro 'kernel={case['kernel']} {case['line']}'"
    cases.append(case)
report.update(cases=cases, planned=count)
with open(out, "w") as file:
    json.dump(report, file)
