#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""A report for the tree: every verdict, and figures to 5 digits; of tensors that passed, GLOBAL's alone, without
worst elements, windows and maps.

    slim_report.py REPORT.json SLIM.json
"""
import json
import sys


def rounded(value):
    if isinstance(value, float):
        return float(f"{value:.5g}")
    if isinstance(value, list):
        return [rounded(item) for item in value]
    if isinstance(value, dict):
        return {key: rounded(item) for key, item in value.items()}
    return value


def slim(report):
    for case in report["cases"]:
        verdict = case["verdict"]
        verdict["tensors"] = [t for t in verdict["tensors"] if t["state"] != "PASSED" or t["leg"] != "local"]
        for tensor in verdict["tensors"]:
            if tensor["state"] == "PASSED":
                tensor["worst"] = []
                tensor.pop("window", None)
                tensor.pop("maps", None)
    return report | {"cases": rounded(report["cases"])}


def main():
    if len(sys.argv) != 3:
        sys.exit(__doc__)
    with open(sys.argv[1]) as source:
        report = json.load(source)
    with open(sys.argv[2], "w") as target:
        json.dump(slim(report), target, separators=(",", ":"))
        target.write("\n")


if __name__ == "__main__":
    main()
