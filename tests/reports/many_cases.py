# SPDX-License-Identifier: Apache-2.0
"""A report of many cases, made of the cases of a small one with other seeds; one in 50 fails in a tensor.

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


def failed(verdict):
    """The same with its first tensor out of bounds."""
    first, *others = verdict["tensors"]
    reason = f"{first['name']}: an element is too far"
    tensors = [{**first, "state": "FAILED", "reason": reason}, *others]
    return {**verdict, "state": "FAILED", "leg": "global", "reason": reason, "tensors": tensors}


passed_verdicts = [json.dumps(bare(case["verdict"])) for case in small]
failed_verdicts = [json.dumps(failed(bare(case["verdict"]))) for case in small]
report["planned"] = count
with open(out, "w") as file:
    file.write(json.dumps(report)[:-1] + ', "cases": [')
    for index in range(count):
        which = index % len(small)
        case = dict(small[which])
        verdict = json.dumps(case["verdict"])
        if index >= len(small):
            verdict = (failed_verdicts if index % 50 == 0 else passed_verdicts)[which]
        del case["verdict"]
        case["index"] = index
        case["line"] = f"{case['line']} seed={index}".strip()
        case["repro"] = f"gdr2 repro 'kernel={case['kernel']} {case['line']}'"
        file.write((", " if index else "") + json.dumps(case)[:-1] + f', "verdict": {verdict}' + "}")
    file.write("]}")
