"""Print the closing words of a run: how its numbers compare with the paper's, and where its page is."""

import sys
from pathlib import Path

import pandas as pd

from rftune.report.page import counts


def main(folder):
    run = Path(folder)
    if not (run / "verdicts.csv").is_file():  # a dry run, or a single target
        print(f"\nNo report in {run} yet: it comes at the end of a whole run.")
        return
    tally = counts(pd.read_csv(run / "verdicts.csv"))
    n_pictures = len(list((run / "figures").glob("*.png")))
    print(f"\n{n_pictures} figures and rendered tables in {run / 'figures'}, tables in {run / 'tables'}")
    print("Numbers beside the paper's: " + ", ".join(f"{n} {name}" for name, n in tally.items()))
    print(f"Open {run / 'report.html'}")


if __name__ == "__main__":
    main(sys.argv[1])
