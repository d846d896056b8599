"""What is written down of the settings and artifacts, made from them: ``python -m rftune.workflow.documents``.

- config/schema.json, with which editors complete and check config files;
- config/README.md, every setting with its type, range, default and meaning;
- the table of targets in README.md;
- docs/claims.md, the paper's sentences beside the reference run.
"""

from __future__ import annotations

import csv
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from importlib import import_module
from pathlib import Path
from typing import Any, Literal, get_args, get_origin

from pydantic.json_schema import models_json_schema

from rftune.emulators.base import EMULATORS
from rftune.experiments.base import EmulatorEntry, experiments
from rftune.report.claims import VERDICTS, judged, to_frame
from rftune.report.verdicts import Evidence
from rftune.settings import Registry, Settings
from rftune.workflow.config import RunSettings
from rftune.workflow.reporting import sections, title
from rftune.workflow.sweeps.settings import SweepSettings

# Of a block that is one of several kinds, by the setting that it stands under.
CHOICES = {"family": "families", "map": "maps", "optimiser": "optimisers"}


def schema() -> dict[str, Any]:
    """JSON schema of a config file, which may leave out whatever another file says."""
    models: list[type[Settings]] = [RunSettings, EmulatorEntry, *(one.Settings for one in experiments().values())]
    kinds = [EMULATORS[name] for name in EMULATORS.names()]
    references, definitions = models_json_schema([(model, "validation") for model in (*models, *kinds)])
    of_model = {model: _inline(reference, definitions["$defs"]) for (model, _), reference in references.items()}
    blocks = {kind.kind_name(): of_model[kind] for kind in kinds}
    properties = {
        **of_model[RunSettings]["properties"],
        **{name: of_model[one.Settings] for name, one in experiments().items()},
    }
    whole = {
        "$schema": "https://json-schema.org/draft/2020-12/schema",
        "title": "rftune config",
        "type": "object",
        "additionalProperties": False,
        "properties": properties,
        "$defs": definitions["$defs"],
    }
    whole["$defs"] |= {"EmulatorEntry": _entry(of_model[EmulatorEntry], blocks), **blocks}
    for name in (name for name in properties if "defaults" in properties[name].get("properties", {})):
        properties[name]["properties"]["defaults"] = _by_kind(properties[name]["properties"]["defaults"], blocks)
    properties["defaults"] = _by_kind(properties["defaults"], blocks)
    override: dict[str, Any] = _as_override(whole)
    return override


def _inline(reference: Mapping[str, Any], definitions: Mapping[str, Any]) -> dict[str, Any]:
    return dict(definitions[reference["$ref"].rpartition("/")[2]])


def _entry(entry: Mapping[str, Any], blocks: Mapping[str, Any]) -> dict[str, Any]:
    """An emulator of any kind."""
    own = {key: value for key, value in entry["properties"].items() if key != "kind"}
    kinds = [
        {**block, "properties": {"kind": {"const": kind}, **own, **block.get("properties", {})}}
        for kind, block in blocks.items()
    ]
    return {"anyOf": kinds}


def _by_kind(defaults: Mapping[str, Any], blocks: Mapping[str, Any]) -> dict[str, Any]:
    kept = {key: value for key, value in defaults.items() if key in ("description", "default")}
    return {
        **kept,
        "type": "object",
        "additionalProperties": False,
        "properties": {kind: {"$ref": f"#/$defs/{kind}"} for kind in blocks},
    }


def _as_override(schema: Any) -> Any:
    """What a file may say that stands over another: nothing is required, and null takes a name of one's own away."""
    if isinstance(schema, list):
        return [_as_override(entry) for entry in schema]
    if not isinstance(schema, Mapping):
        return schema
    kept = {key: _as_override(value) for key, value in schema.items() if key != "required"}
    if isinstance(kept.get("additionalProperties"), Mapping):
        kept["additionalProperties"] = {"anyOf": [kept["additionalProperties"], {"type": "null"}]}
    return kept


def settings_reference() -> str:
    """config/README.md."""
    parts = [
        "# Settings",
        "Made by `make documents` from the settings themselves; a test holds it up to date. `config.yaml` has the "
        "paper's settings; `quick.yaml`, `full.yaml` and a file of your own override some of them: "
        "`snakemake --configfile config/quick.yaml mine.yaml`, the last one wins. What no file says is as it stands "
        "here.",
        "A nested block is written with a dot: `tuning.optimiser.n_members`. Where a setting is one of several kinds "
        "(`family`, `map`, `optimiser`), it is a name, or a block with the name under `name` and the kind's own "
        "settings.",
        *_section("The run", RunSettings, 2),
        "## Emulators",
        "Under `emulators` of an experiment, by names of your own; under `defaults`, by kind, for all of them. Every "
        "emulator has these settings:",
        _table(EmulatorEntry),
    ]
    for name in EMULATORS.names():
        parts += _section(f"kind: {name}", EMULATORS[name], 3)
    for key, registry in _registries():
        parts.append(f"## {CHOICES.get(key, key).capitalize()}")
        for name in registry.names():
            parts += _section(f"{key}: {name}", registry[name], 3)
    for name, one in experiments().items():
        parts += _section(f"{name}: {one.title}", one.Settings, 2)
    parts += _section("A sweep's file", SweepSettings, 2)
    return "\n\n".join(parts) + "\n"


def _registries() -> Iterator[tuple[str, Registry[Any]]]:
    """The choices within an emulator's settings, by the key that they stand under."""
    found: dict[str, Registry[Any]] = {}
    for name in EMULATORS.names():
        for path, _, registry in _rows(EMULATORS[name]):
            if registry is not None:
                found.setdefault(path.rpartition(".")[2], registry)
    yield from found.items()


def _section(title: str, model: type[Settings], level: int) -> list[str]:
    doc = " ".join((model.__doc__ or "").split("\n\n")[0].split())
    table = _table(model)
    return [f"{'#' * level} {title}", doc, *([table] if table else ["It has no settings."])]


def _table(model: type[Settings]) -> str:
    lines = [
        f"| `{path}` | {_type(field)} | {_default(field)} | {_meaning(field)} |" for path, field, _ in _rows(model)
    ]
    return "\n".join(["| setting | value | default | meaning |", "|---|---|---|---|", *lines]) if lines else ""


def _rows(model: type[Settings], prefix: str = "") -> Iterator[tuple[str, Any, Registry[Any] | None]]:
    """Dotted name, field and registry of every setting; blocks come with the settings in them."""
    for name, field in model.model_fields.items():
        registry = next((entry for entry in field.metadata if isinstance(entry, Registry)), None)
        yield f"{prefix}{name}", field, registry
        nested = _block(field.annotation)
        if nested is not None and registry is None:
            yield from _rows(nested, f"{prefix}{name}.")


def _block(annotation: Any) -> type[Settings] | None:
    """The settings of a block, or of a block that may be null."""
    members = [part for part in getattr(annotation, "__args__", (annotation,)) if part is not type(None)]
    if getattr(annotation, "__origin__", None) is dict or len(members) != 1:
        return None
    (member,) = members
    is_block = isinstance(member, type) and issubclass(member, Settings) and member is not EmulatorEntry
    return member if is_block else None


def _type(field: Any) -> str:
    """Type and range in words."""
    registry = next((entry for entry in field.metadata if isinstance(entry, Registry)), None)
    if registry is not None:
        return "one of " + ", ".join(f"`{name}`" for name in registry.names())
    return _words(field.annotation, field.metadata)


NAMES: dict[Any, str] = {int: "integer", float: "number", str: "text", bool: "true or false", type(None): "null"}


def _words(annotation: Any, metadata: Sequence[Any] = ()) -> str:
    """A type in words, with its range."""
    origin, members = get_origin(annotation), get_args(annotation)
    if hasattr(annotation, "__metadata__"):
        bounds = [bound for entry in annotation.__metadata__ for bound in getattr(entry, "metadata", [entry])]
        return _words(annotation.__origin__, bounds)
    if origin is tuple:
        listed = members[:-1] if members[-1] is Ellipsis else members
        within = ", ".join(map(_words, listed))
        return f"list of {within}" if len(listed) < len(members) else f"[{within}]"
    if origin is dict:
        return f"names with {_words(members[1])}"
    if origin is Literal:
        return "one of " + ", ".join(f"`{member}`" for member in members)
    if members:
        return " or ".join(_words(member, metadata) for member in members)
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return "block"
    if isinstance(annotation, type) and issubclass(annotation, tuple):
        return "[" + ", ".join(annotation.__annotations__) + "]"
    name = NAMES.get(annotation, "any value")
    return " ".join([name, *_range(metadata)]) if annotation in (int, float) else name


def _range(metadata: Any) -> list[str]:
    signs = {"ge": "≥", "gt": ">", "le": "≤", "lt": "<"}
    return [
        f"{sign} {getattr(bound, key):g}"
        for bound in metadata
        for key, sign in signs.items()
        if getattr(bound, key, None) is not None
    ]


def _default(field: Any) -> str:
    if field.is_required():
        return "–"
    value = field.get_default(call_default_factory=True)
    if isinstance(value, Settings):
        plain = value.plain()
        return f"`{plain['name']}`" if "name" in plain else ""
    if value is None:
        return "null"
    return f"`{json.dumps(value)}`" if not isinstance(value, str) else f"`{value}`"


def _meaning(field: Any) -> str:
    return (field.description or "").replace("|", "\\|")


def targets() -> str:
    """The table of targets in README.md."""
    rows = ["| target | what it shows |", "|---|---|", "| `report` | the page with all of the below beside the paper |"]
    for artifact in sections():
        rows.append(f"| `{artifact}` | {title(artifact)} |")
    return "\n".join(rows)


def with_targets(readme: str) -> str:
    """README.md with the present table between its marks."""
    marked = re.compile(r"(<!-- targets -->\n).*?(\n<!-- end of targets -->)", re.DOTALL)
    return marked.sub(lambda found: found[1] + targets() + found[2], readme)


CLAIMS_INTRODUCTION = (
    "Made by `make documents` from [results/paper/claims.csv](../results/paper/claims.csv); every run makes such a "
    "file, and its page shows it. Each sentence of the paper that can be checked stands here, in the paper's order and "
    "cut where it is long, with the condition that we take it to mean, the numbers of the reference run, and a "
    "verdict. Where it does not hold, what shows why is named. To add one: a function and a line in the `claims` "
    "module of an experiment."
)


def claims_document(stored: Sequence[Mapping[str, str]]) -> str:
    """Every sentence as a page, with the line of the reference run's claims.csv where it has one."""
    lines = _with_stored(stored)
    counted = Counter(line["verdict"] for line in lines)
    tally = ", ".join(f"{counted[verdict]} {verdict}" for verdict in VERDICTS)
    rows = [
        "| section | the paper | condition | reference run | verdict |",
        "|---|---|---|---|---|",
        *(_claim_row({key: value.replace("|", "\\|") for key, value in line.items()}) for line in lines),
    ]
    heading = ["# What the paper says in sentences", CLAIMS_INTRODUCTION, f"Of {len(lines)} sentences: {tally}."]
    return "\n\n".join([*heading, "\n".join(rows)]) + "\n"


def _with_stored(stored: Sequence[Mapping[str, str]]) -> list[Mapping[str, str]]:
    """The lines of all sentences; of one that the reference run did not judge, on this condition, without numbers."""
    modules = [module for one in experiments().values() if (module := one.module("claims"))]
    judgements = [line for module in modules for line in judged(import_module(module).CLAIMS, Evidence({}))]
    told: list[dict[str, str]] = to_frame(judgements).to_dict("records")  # type: ignore[assignment]
    found = {(line["says"], line["condition"]): line for line in stored}
    return [
        found.get((line["says"], line["condition"]), {**line, "ours": "not in the reference run yet"}) for line in told
    ]


def _claim_row(line: Mapping[str, str]) -> str:
    why = f" *{line['because']}*" if line["because"] else ""
    place = f"{line['section']}, {line['artifact']}"
    return f"| {place} | “{line['says']}” | {line['condition']} | {line['ours']}{why} | {line['verdict']} |"


def _claims(path: Path) -> list[dict[str, str]]:
    if not path.is_file():
        return []
    with path.open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def documents(root: Path) -> dict[Path, str]:
    """Content of every file that is made from settings, artifacts and the reference run."""
    return {
        root / "config/schema.json": json.dumps(schema(), indent=1, ensure_ascii=False) + "\n",
        root / "config/README.md": settings_reference(),
        root / "docs/claims.md": claims_document(_claims(root / "results/paper/claims.csv")),
        root / "README.md": with_targets((root / "README.md").read_text(encoding="utf-8")),
    }


if __name__ == "__main__":
    for path, content in documents(Path(__file__).resolve().parents[3]).items():
        path.write_text(content, encoding="utf-8")
        print(path)
