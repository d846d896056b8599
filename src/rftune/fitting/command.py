"""The command line: ``rftune fit runs.csv --inputs a,b --outputs y -o model.nc``, and what can be done with the model.

Every command says what it did on standard output, with ``--json`` for programs, and what went wrong in one line on
standard error. Exit codes: 0 done, 1 bad input, 2 bad usage, 3 done but not to be relied on, 130 stopped.
"""

from __future__ import annotations

import json
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from rftune import __version__

if TYPE_CHECKING:
    import pandas as pd

    from rftune.fitting.emulator import FittedEmulator
    from rftune.inference.mcmc import Progress

BAD_INPUT, DOUBTFUL, STOPPED = 1, 3, 130
_SHELLS = ("bash", "zsh", "fish")
_PATH = click.Path(path_type=Path)


class Names(click.ParamType[list[str]]):
    """Names with commas between them."""

    name = "names"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> list[str]:
        names = [name.strip() for name in value.split(",")] if isinstance(value, str) else list(value)
        if not all(names):
            self.fail(f"names must be given as a,b,c; got {value!r}", param, ctx)
        return names


class Values(click.ParamType[Any]):
    """One number, numbers with commas between them, or name=number with commas between them."""

    name = "values"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            if "=" in value:
                pairs = (entry.rsplit("=", 1) for entry in value.split(","))
                return {name.strip(): float(number) for name, number in pairs}
            numbers = [float(number) for number in value.split(",")]
            return numbers[0] if len(numbers) == 1 else numbers
        except ValueError:
            self.fail(f"must be 0.1, or 0.1,0.2, or y=0.1,z=0.2; got {value!r}", param, ctx)


class Bounds(click.ParamType[Any]):
    """name=low:high with commas between them."""

    name = "bounds"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        if not isinstance(value, str):
            return value
        try:
            pairs = (entry.rsplit("=", 1) for entry in value.split(","))
            ranges = {name.strip(): ends.split(":") for name, ends in pairs}
            return {name: (float(low), float(high)) for name, (low, high) in ranges.items()}
        except ValueError:
            self.fail(f"must be a=0:1,b=-5:5; got {value!r}", param, ctx)


def common(command: Callable[..., Any]) -> Callable[..., Any]:
    """Options of every command."""
    command = click.option("--quiet", is_flag=True, help="Say nothing but errors; show no bar.")(command)
    return click.option("--json", "as_json", is_flag=True, help="Say it as JSON.")(command)


_seed = click.option("--seed", type=int, default=0, show_default=True, help="Of everything that is random.")
_bounds = click.option("--bounds", type=Bounds(), help="Ranges of inputs, a=0:1,b=-5:5; of others that of the runs.")
_table = click.option("-o", "--output", type=_PATH, help="Where the table goes: csv, tsv, parquet, npz or nc.")


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(__version__, prog_name="rftune")
def cli() -> None:
    """Emulators of your own runs: fit, validate, predict."""


@cli.command()
@click.argument("runs", type=_PATH)
@click.option("--inputs", type=Names(), required=True, help="Columns, a,b,c; patterns such as 'k_*' too.")
@click.option("--outputs", type=Names(), required=True, help="Columns or variables, y,z; patterns too.")
@click.option("--noise", type=Values(), help="Variance of the outputs' noise, 0 for none; learned if left out.")
@click.option("--emulators", type=Names(), help="Who takes part in the race; all if left out.")
@click.option("--budget", type=float, default=60.0, show_default=True, help="Estimated seconds of the race.")
@click.option("--components", type=int, help="Combinations of the outputs that are emulated; chosen if left out.")
@click.option("--name", help="A column with names of the runs.")
@click.option("-o", "--output", type=_PATH, required=True, help="Where the emulator goes, a .nc file.")
@_seed
@common
def fit(
    runs: Path,
    inputs: list[str],
    outputs: list[str],
    noise: Any,
    emulators: list[str] | None,
    budget: float,
    components: int | None,
    name: str | None,
    output: Path,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Make an emulator of the RUNS in a file, csv, tsv, parquet, npz or nc."""
    from rftune.fitting import emulator, files, model_file

    model_file.check_path(output)
    source = files.labelled(files.load(runs), name)
    x = files.take("inputs", source, files.matching("inputs", inputs, source))
    y = files.take("outputs", source, files.matching("outputs", outputs, source))
    made = emulator.fit(
        x,
        y,
        noise=noise,
        emulators=emulators,
        budget=budget,
        components=components,
        seed=seed,
        progress=not quiet,
    )
    made.save(output)
    race, verdict = made.race.drop(columns=["title", "planned_seconds"]), made.card["verdict"]
    lines = [*_lines(race), "", *made.notes, "", *verdict, f"The emulator is in {output}."]
    say({"race": race, "notes": made.notes, "verdict": verdict, "model": str(output)}, lines, as_json, quiet)


@cli.command()
@click.argument("model", type=_PATH)
@click.argument("points", type=_PATH)
@click.option("--with-noise", is_flag=True, help="Standard deviations of new data, not of the function.")
@_table
@common
def predict(model: Path, points: Path, with_noise: bool, output: Path | None, as_json: bool, quiet: bool) -> None:
    """Predict the outputs, with standard deviations, at the POINTS in a file."""
    from rftune.fitting import files

    emulator = _loaded(model, output)
    source = files.load(points)
    x = files.take("inputs", source, emulator.inputs.names)
    frame = emulator.predict_frame(x, with_noise)
    _deliver({"predictions": frame}, frame, output, as_json, quiet)


@cli.command()
@click.argument("model", type=_PATH)
@click.argument("runs", type=_PATH, required=False)
@click.option("--page", type=_PATH, help="Where a page to look at goes, an .html file.")
@_table
@_seed
@common
def validate(
    model: Path, runs: Path | None, page: Path | None, output: Path | None, seed: int, as_json: bool, quiet: bool
) -> None:
    """Say how far an emulator can be trusted: by its own runs, each left out, or by other RUNS."""
    from rftune.fitting import files

    if page is not None:
        from rftune.fitting import page as pages

        pages.check_path(page)
    emulator = _loaded(model, output)
    if runs is None:
        validated = emulator.validate()
    else:
        source = files.load(runs)
        x = files.take("inputs", source, emulator.inputs.names)
        validated = emulator.validate(x, files.take("outputs", source, emulator.output_variables))
    if page is not None:
        pages.write(emulator, validated, page, seed)
    if output is not None:
        files.save(validated.runs, output)
    scores, worst, verdict = validated.scores, validated.worst(), validated.verdict()
    lines = [*_lines(scores), "", "Predicted worst:", *_lines(worst), "", *verdict]
    lines += [f"A page to look at is in {page}."] if page is not None else []
    say({"scores": scores, "worst": worst, "verdict": verdict}, lines, as_json, quiet)
    if not validated.can_be_trusted:
        raise click.exceptions.Exit(DOUBTFUL)


@cli.command()
@click.argument("model", type=_PATH)
@_bounds
@click.option("--base", type=int, default=1024, show_default=True, help="Points of the design's base, a power of two.")
@_table
@_seed
@common
def sensitivity(
    model: Path, bounds: Any, base: int, output: Path | None, seed: int, as_json: bool, quiet: bool
) -> None:
    """Sobol indices: the shares of the outputs' variance that are due to each input."""
    found = _loaded(model, output).sensitivity(bounds, base, seed)
    _deliver({"indices": found}, found, output, as_json, quiet)


@cli.command()
@click.argument("model", type=_PATH)
@click.argument("observation", type=_PATH, required=False)
@click.option("--observe", type=Values(), help="Observed outputs, y=1.2,z=3, instead of a file with one row.")
@click.option("--noise", type=Values(), help="Variance of the observation's noise; that of the runs if left out.")
@_bounds
@click.option("--steps", type=int, default=40_000, show_default=True, help="Kept steps of all chains together.")
@_table
@_seed
@common
def sample(
    model: Path,
    observation: Path | None,
    observe: Any,
    noise: Any,
    bounds: Any,
    steps: int,
    output: Path | None,
    seed: int,
    as_json: bool,
    quiet: bool,
) -> None:
    """Draw inputs that agree with an OBSERVATION, with a uniform prior between bounds."""
    from rftune.fitting import files

    if (observation is None) == (observe is None):
        raise click.UsageError("name a file with the observation, or give it with --observe: one of the two")
    emulator = _loaded(model, output)
    if observation is not None:
        observe = files.take("outputs", files.load(observation), emulator.output_variables).values
    with _chain_bar(quiet) as progress:
        found = emulator.infer(observe, noise, bounds, steps, seed, progress)
    if output is not None:
        files.save(found.samples, output)
    reason = found.diagnostics.reason
    ending = (
        f"The chains have not converged: {reason}. Ask for more --steps." if reason else "The chains have converged."
    )
    lines = [*_lines(found.table), "", ending]
    say({"posterior": found.table, "converged": not reason, "reason": reason}, lines, as_json, quiet)
    if reason:
        raise click.exceptions.Exit(DOUBTFUL)


@cli.command()
@click.argument("model", type=_PATH)
@click.option("-o", "--output", type=_PATH, required=True, help="Where the picture goes: png or pdf.")
@click.option(
    "--what",
    type=click.Choice(["effects", "indices", "predictions", "calibration", "errors"]),
    default="effects",
    show_default=True,
    help="Main effects, Sobol indices, or left-out predictions, their calibration, their errors.",
)
@_bounds
@_seed
@common
def plot(model: Path, output: Path, what: str, bounds: Any, seed: int, as_json: bool, quiet: bool) -> None:
    """Draw what an emulator has learned, or how well."""
    from rftune.fitting import figures
    from rftune.report import style

    figures.check_path(output)
    emulator = _loaded(model, None)
    if what == "effects":
        figure = figures.main_effects(emulator.main_effects(bounds, seed))
    elif what == "indices":
        figure = figures.indices(emulator.sensitivity(bounds, seed=seed))
    else:
        figure = figures.OF_VALIDATION[what](emulator.validate())
    style.save(figure, [output])
    say({"picture": str(output)}, [f"The picture is in {output}."], as_json, quiet)


@cli.command()
@click.argument("model", type=_PATH)
@common
def card(model: Path, as_json: bool, quiet: bool) -> None:
    """Say what an emulator was made of: data, settings, versions, validation."""
    import yaml

    found = dict(_loaded(model, None).card)
    say(found, yaml.safe_dump(found, sort_keys=False, allow_unicode=True, width=100).splitlines(), as_json, quiet)


@cli.command()
@click.argument("shell", type=click.Choice(_SHELLS))
def completion(shell: str) -> None:
    """Print what makes a shell complete commands and options: eval "$(rftune completion bash)"."""
    from click.shell_completion import get_completion_class

    kind = get_completion_class(shell)
    assert kind is not None
    click.echo(kind(cli, {}, "rftune", "_RFTUNE_COMPLETE").source())


def say(content: Mapping[str, Any], lines: Sequence[str], as_json: bool, quiet: bool) -> None:
    """On standard output, for people or for programs."""
    if as_json:
        click.echo(json.dumps(plain(content), indent=2, allow_nan=False))
    elif not quiet:
        click.echo("\n".join(lines))


def plain(thing: Any) -> Any:
    """As json can write it: tables as lists of rows, null for what is no number."""
    import numpy as np
    import pandas as pd

    if isinstance(thing, pd.DataFrame):
        return [plain(row) for row in thing.to_dict("records")]
    if isinstance(thing, Mapping):
        return {str(key): plain(value) for key, value in thing.items()}
    if isinstance(thing, list | tuple):
        return [plain(entry) for entry in thing]
    if isinstance(thing, float | np.floating):
        return float(thing) if np.isfinite(thing) else None
    return thing.item() if isinstance(thing, np.generic) else thing


def _deliver(content: Mapping[str, Any], table: pd.DataFrame, output: Path | None, as_json: bool, quiet: bool) -> None:
    """A table to a file, or without one to standard output."""
    if output is None:
        say(content, table.to_csv(index=False, lineterminator="\n").splitlines(), as_json, quiet)
        return
    from rftune.fitting import files

    files.save(table, output)
    say({**content, "table": str(output)}, [f"The table is in {output}."], as_json, quiet)


def _lines(table: pd.DataFrame) -> list[str]:
    """A table for people."""
    return str(table.to_string(index=False, float_format=lambda value: f"{value:.4g}", na_rep="")).splitlines()


def _loaded(model: Path, output: Path | None) -> FittedEmulator:
    """The emulator in a file, once it is clear that the result can be written."""
    from rftune.fitting import emulator, files

    if output is not None:
        files.check_writable(output)
    return emulator.load(model)


@contextmanager
def _chain_bar(quiet: bool) -> Iterator[Progress | None]:
    """A bar over the steps of the chains, of which burn-in may take fewer than it shows."""
    if quiet:
        yield None
        return
    from rftune.progress import progress_bar

    with progress_bar(1, "burn-in") as bar:

        def progress(phase: str, done: int, most: int) -> None:
            bar.set_description(phase)
            bar.total, bar.n = most, done
            bar.refresh()

        yield progress


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command, and end with its exit code; what goes wrong is one line."""
    try:
        code = cli.main(list(sys.argv[1:] if arguments is None else arguments), "rftune", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.Exit as ending:
        sys.exit(ending.exit_code)
    except click.ClickException as error:
        _complain(error.format_message())
        sys.exit(error.exit_code)
    except (click.Abort, KeyboardInterrupt):
        _complain("stopped")
        sys.exit(STOPPED)
    except BrokenPipeError:  # who reads has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except (ValueError, OSError, MemoryError) as error:
        _complain(str(error) or type(error).__name__)
        sys.exit(BAD_INPUT)


def _complain(message: str) -> None:
    click.echo(f"rftune: {' '.join(message.split())}", err=True)
