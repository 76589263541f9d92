# SPDX-License-Identifier: Apache-2.0
"""A report of many cases, made of the cases of a small one with other seeds.

    many_cases.py REPORT.json COUNT OUT.json
"""
import json
import sys

source, count, out = sys.argv[1], int(sys.argv[2]), sys.argv[3]
with open(source) as file:
    report = json.load(file)
small = report.pop("cases")


def bare(verdict):
    """Without what a page shows of a few cases alone: it stays with the first of each."""
    tensors = [
        {**{k: v for k, v in t.items() if k not in ("maps", "window")}, "worst": [], "batches": []}
        for t in verdict["tensors"]
    ]
    return {**verdict, "tensors": tensors}


verdicts = [json.dumps(bare(case["verdict"])) for case in small]
report["planned"] = count
with open(out, "w") as file:
    file.write(json.dumps(report)[:-1] + ', "cases": [')
    for index in range(count):
        which = index % len(small)
        case = dict(small[which])
        verdict = verdicts[which] if index >= len(small) else json.dumps(case["verdict"])
        del case["verdict"]
        case["index"] = index
        case["line"] = f"{case['line']} seed={index}".strip()
        case["repro"] = f"gdr2 repro 'kernel={case['kernel']} {case['line']}'"
        file.write((", " if index else "") + json.dumps(case)[:-1] + f', "verdict": {verdict}' + "}")
    file.write("]}")
