#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Measures how well `gdr2 compare --gate` tells a regression from chance, on runs of a right kernel.

    compare_study.py GDR2 FOLDER [--set smoke] [--kernel cpu.chunk] [--seeds 15] [--groups 100] [--each-dtype]
                     [--processes 2]

False alarms: the set runs with each of the seeds, and every two of these clean runs are compared.
Regressions: in the run of the first seed the error of one tensor of one recipe grows by 5 %, in all dtypes
or, with --each-dtype, in one: noise that depends on nothing is added to it, of such size that its rms is
1.05 of what it was. The gate must exit with 1, and name what grew and nothing else. Groups of fewer
elements than the gate looks at are not tried.
Reports that stand in FOLDER are used again. Prints the figures, and exits with 1 when the gate fired on a
clean pair or missed a regression.
"""
import argparse
import collections
import concurrent.futures
import itertools
import json
import math
import pathlib
import random
import re
import subprocess
import sys

GROWTH = 1.05
LEAST_ELEMENTS = 1000  # GateLimits::elements of reports/compare.hpp


def run_clean(options, seed):
    report = options.folder / f"clean{seed}.json"
    if not report.exists():
        subprocess.run(
            [options.gdr2, "verify", "--set", options.set, "--kernel", options.kernel, "--seed", str(seed),
             "--threads", "1", "--json", report], stdout=subprocess.DEVNULL, check=True)
    return report


def compare(options, old, new):
    done = subprocess.run([options.gdr2, "compare", old, new, "--gate", "--all"], capture_output=True, text=True)
    return done.returncode, done.stdout


def largest_deviations(text):
    """How many standard deviations the clearest growth of a comparison is."""
    rows = re.findall(r"([\d.]+)x \[([\d.]+), ([\d.]+)\]", text)
    deviations = [math.log(float(ratio)) / (math.log(float(ratio) / float(low)) / 1.96)
                  for ratio, low, _ in rows if float(ratio) > float(low) > 0]
    return max(deviations, default=0)


def recipe_of(line):
    words = dict(word.split("=", 1) for word in line.split())
    return "file" if "file" in words else words.get("recipe", "plain")


def groups_of(report, each_dtype):
    """Tensors of the report by label, dtype (or "*"), recipe and kernel, as the comparison names them."""
    groups = collections.defaultdict(list)
    for case in report["cases"]:
        for tensor in case["verdict"]["tensors"]:
            batches = tensor.get("batches") or []
            if len(batches) > 1 and all(isinstance(b, (int, float)) for b in batches) and sum(batches) > 0:
                label = tensor["name"] + (" *" if tensor["leg"] == "local" else "")
                dtype = case["dtype"] if each_dtype else "*"
                groups[label, dtype, recipe_of(case["line"]), case["kernel"]].append(tensor)
    return groups


def grown(batches, count, draw):
    """Mean squares of e + d by batch: d does not depend on e, and its mean square is 1.05^2 - 1 of e's."""
    per_batch = max(1, count / len(batches))
    values = []
    for mean in batches:
        added = (GROWTH**2 - 1) * mean
        cross = draw.gauss(0, math.sqrt(4 * mean * added / per_batch))
        own = added * (1 + draw.gauss(0, math.sqrt(2 / per_batch)))
        values.append(max(0.0, mean + cross + own))
    return values


def regress(options, source, group, number):
    """"" when the gate exits with 1 and names the group and no other; else what it says of it."""
    report = json.loads(source.read_text())
    draw = random.Random(number)
    for tensor in groups_of(report, options.each_dtype)[group]:
        tensor["batches"] = grown(tensor["batches"], tensor["count"], draw)
    changed = options.folder / f"regressed{number}.json"
    changed.write_text(json.dumps(report))
    code, text = compare(options, source, changed)
    changed.unlink()
    rows = {tuple(re.split("  +", line.strip())[:4]): line for line in text.splitlines() if "pairs," in line}
    accused = [name for name, line in rows.items() if line.endswith("REGRESSION")]
    label, dtype, recipe, kernel = group
    is_it = [name[0] == label and (dtype == "*" or dtype == name[1]) and name[2:] == (recipe, kernel) for name in rows]
    grew = [name for name, good in zip(rows, is_it) if good]
    if code == 1 and accused and set(accused) <= set(grew):
        return ""
    return f"exit code {code}, {len(accused)} accused: " + "; ".join(rows[name].strip() for name in grew)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("gdr2")
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("--set", default="smoke")
    parser.add_argument("--kernel", default="cpu.chunk")
    parser.add_argument("--seeds", type=int, default=15, help="15 give 105 pairs")
    parser.add_argument("--groups", type=int, default=100, help="in which to grow the error, evenly chosen; 0: all")
    parser.add_argument("--each-dtype", action="store_true", help="let the error grow in one dtype at a time")
    parser.add_argument("--processes", type=int, default=2)
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)

    with concurrent.futures.ThreadPoolExecutor(options.processes) as pool:
        clean = list(pool.map(lambda seed: run_clean(options, seed), range(1, options.seeds + 1)))
        pairs = list(itertools.combinations(clean, 2))
        outcomes = list(pool.map(lambda pair: compare(options, *pair), pairs))
        fired = sum(code != 0 for code, _ in outcomes)
        clearest = max((largest_deviations(text) for _, text in outcomes), default=0)
        print(f"clean runs with other seeds: the gate fired in {fired} of {len(pairs)} comparisons; "
              f"clearest growth {clearest:.1f} standard deviations", flush=True)

        groups = groups_of(json.loads(clean[0].read_text()), options.each_dtype)
        tried = [group for group, tensors in sorted(groups.items())
                 if sum(tensor["count"] for tensor in tensors) >= LEAST_ELEMENTS]
        if 0 < options.groups < len(tried):
            tried = [tried[i * len(tried) // options.groups] for i in range(options.groups)]
        missed = list(filter(None, pool.map(lambda n: regress(options, clean[0], tried[n], n), range(len(tried)))))

    print(f"5 % in one tensor of one recipe: caught and named {len(tried) - len(missed)} of {len(tried)}")
    for what in missed:
        print("  missed:", what)
    return 0 if tried and pairs and fired == 0 and not missed else 1


if __name__ == "__main__":
    sys.exit(main())
