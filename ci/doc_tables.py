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
PAGES = ["docs/KERNELS.md", "docs/LAWS.md", "docs/NUMERICS.md", "docs/POWER.md", "docs/SEARCH.md", "fixtures/regressions/README.md"]
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


def law_times(report):
    """What each law on a case took, without those that say nothing of it."""
    rows = [[f"`{case['note']}`", case["verdict"]["state"], f"{1e3 * case['seconds']:.1f}"]
            for case in report["cases"] if case["verdict"]["state"] != "SKIPPED"]
    rows[0][2] += " (inputs are drawn)"
    return origin(report) + table(["law", "state", "ms"], rows)


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


def calibration(report):
    """Right kernels on random cases, a row a kernel and dtype."""
    study = report["calibration"]
    parts, seen, cases = {}, [], {}
    for row in study["rows"]:
        name = f"{row['kernel']} {row['dtype']}"
        if row["by"] == "recipe":  # holds every element of every order once
            parts.setdefault(name, []).append(row)
        elif row["by"] in ("stage", "chunk"):
            allowed = study["allowed"][f"{name} {row['by']} {row['value']}"]
            seen.append((row["max_z"] / allowed, row, allowed))
    rows = []
    for name, of in parts.items():
        verdicts, allowed = study["progress"][name]["verdicts"], study["allowed"][name]
        elements, largest = sum(r["elements"] for r in of), max(r["max_z"] for r in of)
        count = sum(n for state, n in verdicts.items() if state != "SKIPPED")
        dtype = name.split()[1]
        cases[dtype] = cases.get(dtype, 0) + count
        rms = (sum(r["sum_z2"] for r in of) / elements) ** 0.5
        bias = sum(r["sum_z"] for r in of) / elements
        rows.append([name, f"{elements / 1e6:.0f} M", f"{largest:.1f}", f"{allowed:g}", f"{allowed / largest:.2f}",
                     f"{rms:.2f}", f"{bias:.0e}", f"{sum(verdicts.get(s, 0) for s in ('FAILED', 'CRASHED', 'TIMED_OUT'))} of {count}",
                     verdicts.get("MISTRUSTED", 0)])
    every = [r for of in parts.values() for r in of]
    closest = sorted(seen, key=lambda x: -x[0])[:3]
    head = ["kernel, products", "elements x orders", "largest z", "allowed", "margin", "rms z", "bias (mean signed z)",
            "cases accused", "MISTRUSTED"]
    return (f"{sum(cases.values())} random cases ({', '.join(f'{n} {dtype}' for dtype, n in cases.items())}), "
            f"sources {report['git_sha'][:8]}: {sum(r['elements'] for r in every):.3g} element checks of results and "
            f"{sum(row['elements'] for _, row, _ in seen):.2g} of stages and chunks; "
            f"{sum(r['explained'] for r in every)} elements accused by the first look were explained by the second.\n\n" +
            table(head, rows) + "\nStages and chunks that come closest: " +
            ", ".join(f"{row['value']} of {row['kernel']} {row['dtype']} ({row['max_z']:.1f} of {allowed:g})"
                      for _, row, allowed in closest) + ".\n")


def names(words):
    return ", ".join(f"`{word}`" for word in dict.fromkeys(words))


def power(report):
    """Planted faults by kind, and what public rules reject of the same outputs."""
    study = report["power"]
    rules, kinds, legs = list(study["rules"]), {}, {}
    for mutant in study["mutants"]:
        if mutant["state"] != "equivalent":
            kinds.setdefault(mutant["kind"], []).append(mutant)
        if mutant["state"] == "caught":
            legs[mutant["leg"]] = legs.get(mutant["leg"], 0) + 1

    def row(kind, mutants):
        part = [sum(rule in m["rules"] for m in mutants) for rule in rules]
        return [kind, f"{sum(m['state'] == 'caught' for m in mutants)} of {len(mutants)}",
                *(f"{100 * n / len(mutants):.0f} %" for n in part)]

    rows = [row(kind, mutants) for kind, mutants in sorted(kinds.items())]
    rows.append(row("**all**", [m for mutants in kinds.values() for m in mutants]))
    rows.append(["right kernels accused", f"{study['right_alarms']} of {study['right_cases']}",
                 *(f"{study['rule_false_alarms'].get(rule, 0)} of {study['right_cases']}" for rule in rules)])
    left = [m for m in study["mutants"] if m["state"] == "survived"]
    equivalent = [m for m in study["mutants"] if m["state"] == "equivalent"]
    return (f"Sets {names(study['sets'])}, sources {report['git_sha'][:8]}: {study['caught']} of "
            f"{study['non_equivalent']} caught, by " + ", ".join(f"{leg} {n}" for leg, n in
                                                                  sorted(legs.items(), key=lambda x: -x[1])) +
            ". Equivalent: " + (names(m["name"] for m in equivalent) or "none") + ". Survivors: " +
            ("; ".join(f"`{m['name']}` ({m['what']}; other bits in {m['differing']} cases)" for m in left) or "none") +
            ".\n\n" + table(["kind of fault", "caught", *rules], rows))


def perturbations(report):
    """True results changed in one place or as a whole."""
    rules = list(report["power"]["rules"])
    rows = [[name, p["tried"], p["rejected"], p["within"], len(p["missed"]), *(p.get("rules", {}).get(rule, 0) for rule in rules)]
            for name, p in report["power"]["perturbations"].items()]
    rows.append(["**all**", *(sum(row[i] for row in rows) for i in range(1, len(rows[0])))])
    return table(["perturbation", "tried", "rejected", "no larger than the contract explains", "missed", *rules], rows)


def times(report):
    """Times of the kernels, a row a problem."""
    passes = ["forward", "forward+backward", "forward+backward recomputed", "decode", "copy of the states"]
    rows = {}
    for row in report["rows"]:
        rows.setdefault(row["case"], {})[row["pass"]] = f"{row['median_ms']:.3g}"
    return (f"Median of {report['repetitions']}, ms, {report['environment']['device']}, kernel sources "
            f"{report['environment']['kernel_sources']}.\n\n" +
            table(["problem", *passes], [[case, *(of.get(key, "") for key in passes)] for case, of in rows.items()]))


def ratios(report):
    """Kernels beside a peer in one run: the peer's time over the kernel's."""
    ms = {(row["kernel"], row["case"], row["pass"]): row["median_ms"] for row in report["rows"]}
    rows = [[r["case"], r["pass"], f"{ms[r['kernel'], r['case'], r['pass']]:.3g}",
             f"{ms[r['peer'], r['case'], r['pass']]:.3g}", f"**{r['ratio']:.2f}** ({r['low']:.2f} to {r['high']:.2f})"]
            for r in report["ratios"]]
    return (f"{report['environment']['device']}, kernel sources {report['environment']['kernel_sources']}, "
            f"{report['rounds']} rounds in turn.\n\n" +
            table(["problem", "pass", "ours, ms", "peer, ms", "ratio of pairs (range)"], rows))


def beside(report):
    """Relative rms errors of two kernels on the same inputs, 1e-3: first / second."""
    errors = {}
    for case in report["cases"]:
        errors.setdefault(case["line"], {})[case["kernel"]] = {
            t["name"]: t["rel_norm"] for t in case["verdict"]["tensors"] if t["leg"] == "global"}
    kernels = list(next(iter(errors.values())))
    pairs = [(line, name) for line, of in errors.items() for name in of[kernels[0]] if name in of[kernels[1]]]
    tensors = list(dict.fromkeys(name for _, name in pairs))
    above = [(line, name) for line, name in pairs if errors[line][kernels[0]][name] > errors[line][kernels[1]][name]]

    def cell(of, name):
        return " / ".join(f"{1e3 * of[k][name]:.2f}" for k in kernels) if all(name in of[k] for k in kernels) else ""

    rows = [["`" + re.sub(r"file=\S*/", "", line).replace(" pass=both", "") + "`", *(cell(of, name) for name in tensors)]
            for line, of in errors.items()]
    return (f"{kernels[0]} / {kernels[1].split('=')[0]}, one run, kernel sources "
            f"{report['environment']['kernel_sources']}. Of {len(pairs)} tensors {len(above)} have the larger error in "
            f"{kernels[0]}.\n\n" + table(["case", *tensors], rows))


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
