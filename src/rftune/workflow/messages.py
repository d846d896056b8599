"""What is wrong with settings, in sentences: what was expected, what came, what to do."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

import yaml
from pydantic import ValidationError
from pydantic.fields import FieldInfo
from pydantic_core import ErrorDetails

from rftune.settings import Registry, Settings

# What was expected, by the type of pydantic's error; fields in braces are from its context.
EXPECTED = {
    "int_type": "of type integer",
    "float_type": "of type number",
    "string_type": "of type string",
    "bool_type": "of type boolean",
    "tuple_type": "a list",
    "dict_type": "a block of settings",
    "model_type": "a block of settings",
    "model_attributes_type": "a block of settings",
    "finite_number": "finite",
    "greater_than_equal": "at least {ge:g}",
    "greater_than": "above {gt:g}",
    "less_than_equal": "at most {le:g}",
    "less_than": "below {lt:g}",
    "too_short": "a list of at least {min_length} entries",
    "too_long": "a list of at most {max_length} entries",
    "string_too_short": "text",
    "string_too_long": "text of at most {max_length} characters",
    "string_unicode": "text that can be written as UTF-8",
    "recursion_loop": "a block that does not hold itself",
    "string_pattern_mismatch": "a name of small letters, digits and _, a letter first",
    "named_tuple_type": "a list",
}
LONGEST = 600  # characters of one problem
# Blocks in blocks, and entries, beyond those of any config that somebody has written.
DEEPEST, MOST_ENTRIES = 50, 1_000_000
# What comes of a file that is no yaml; a ValueError of text that is no UTF-8, or of a date that no calendar has.
UNREADABLE = (OSError, ValueError, RecursionError, yaml.YAMLError)


def one_line(text: str) -> str:
    """A problem as one line: a text that the user gave may be long, and may have lines of its own."""
    joined = " ".join(text.split())
    return joined if len(joined) <= LONGEST else f"{joined[: LONGEST - 1]}…"


def why_unreadable(error: Exception) -> str:
    """What is wrong with a file that cannot be read as yaml, and in which line."""
    if isinstance(error, OSError):
        return str(error.strerror)
    if isinstance(error, UnicodeDecodeError):
        return "no text"
    mark, problem = getattr(error, "problem_mark", None), getattr(error, "problem", None) or str(error)
    return one_line(f"no yaml: {problem}" + ("" if mark is None else f" in line {mark.line + 1}"))


def without_end(raw: Any) -> str:
    """What is wrong with a block or list that is in itself, as yaml's anchors can have it; nothing for any other."""
    pending: list[tuple[tuple[Any, ...], tuple[int, ...], Any]] = [((), (), raw)]
    n_entries = 0
    while pending:
        path, around, block = pending.pop()
        keys = block.keys() if isinstance(block, Mapping) else range(len(block)) if isinstance(block, list) else ()
        pending += [((*path, key), (*around, id(block)), block[key]) for key in keys]
        n_entries += len(keys)
        place = ".".join(map(spelled, path)) or "it"
        if id(block) in around and keys:
            return f"{place} must not be in itself: write it without anchors (&, *)"
        if len(path) > DEEPEST or n_entries > MOST_ENTRIES:
            return f"{place} must hold less than a million entries, at most {DEEPEST} deep: leave some out"
    return ""


def short(value: Any, length: int = 200) -> str:
    """A value as it was given, cut where it is long."""
    try:
        text = repr(value)
    except ValueError:  # an integer of more digits than Python prints
        return "a number of thousands of digits"
    return text if len(text) <= length else f"{text[:length]}…"


def spelled(key: Any) -> str:
    """A key as a part of a place: as it is where it is an ordinary name."""
    text = str(key) if isinstance(key, str | int) and not isinstance(key, bool) else ""
    return text if re.fullmatch(r"[A-Za-z0-9_.~+-]{1,80}", text) else short(key, 60)


def among(known: Iterable[str], length: int = 250) -> str:
    """Names that there are, and how many more where they are many."""
    names = list(known)
    n_shown = len(names)
    while n_shown > 1 and len(", ".join(names[:n_shown])) > length:
        n_shown -= 1
    more = f" and {len(names) - n_shown} more" if n_shown < len(names) else ""
    return ", ".join(names[:n_shown]) + more


def nearest(key: str, known: Iterable[str], otherwise: str) -> str:
    """The known name that is most like one, or all of them after some words."""
    names = list(known)
    near = get_close_matches(key[:100], names, n=1) or [name for name in names if name.rpartition(".")[2] == key]
    return f"did you mean {near[0]!r}?" if near else f"{otherwise} {among(names)}"


def sentences(
    error: ValidationError,
    model: type[Settings],
    block: Any,
    place_of: Callable[[Sequence[Any]], str],
    also_known: Iterable[str] = (),
) -> list[str]:
    """A sentence for every entry that is wrong.

    Parameters
    ----------
    error
    model
        What the block was read as.
    block
    place_of
        Where the entry of a path in the block stands, as messages name it.
    also_known
        Keys that are known beside the model's own, on the outermost level.
    """
    found: dict[str, None] = {}
    grouped: dict[tuple[str, tuple[Any, ...]], list[str]] = {}
    lines = error.errors()
    for line in lines:
        path = _path(line["loc"], block)
        if line["type"] == "too_short" and any(_is_within(other, line) for other in lines):
            continue  # it has entries, which are wrong
        if line["type"] in ("extra_forbidden", "missing") and len(path) >= len(line["loc"]) - 1:
            grouped.setdefault((line["type"], tuple(line["loc"][:-1])), []).append(str(line["loc"][-1]))
            continue
        found[_sentence(line, path, len(path) < len(line["loc"]), model, block, place_of)] = None
    for (kind, within), keys in grouped.items():
        path = list(within)
        where = _joined(place_of([*path, keys[0]] if kind == "extra_forbidden" else path), path) or "the config"
        plural = "s" if len(keys) > 1 else ""
        named = among(short(key, 60) for key in (sorted(keys) if kind == "missing" else keys))
        if kind == "missing" and keys[0].isdigit():
            found[f"{where} must be a list of more entries; got {short(_plain(_at(block, path)))}"] = None
        elif kind == "missing":
            found[f"{where}: missing key{plural} {named}"] = None
        else:
            known = [*_fields(model, path, block), *(also_known if not path else ())]
            found[f"{where}: unknown key{plural} {named}; {nearest(keys[0], known, 'known keys:')}"] = None
    return list(map(one_line, found))


def _is_within(line: ErrorDetails, outer: ErrorDetails) -> bool:
    """Whether an error is about an entry of what another one is about."""
    place = outer["loc"]
    return len(line["loc"]) > len(place) and line["loc"][: len(place)] == place


def _sentence(
    line: ErrorDetails,
    path: Sequence[Any],
    of_union: bool,
    model: type[Settings],
    block: Any,
    place_of: Callable[[Sequence[Any]], str],
) -> str:
    where = _joined(place_of(path), path) or "the config"
    context: dict[str, Any] = line.get("ctx", {})
    if line["type"] == "invalid_key" or (line["loc"] and line["loc"][-1] == "[key]"):
        *within, key = line["loc"][:-1] if line["loc"][-1] == "[key]" else line["loc"]
        is_text = line["type"] not in ("string_type", "invalid_key")
        letters = "small letters, digits and _, a letter first," if is_text else "text"
        return f"{_joined(place_of(within), within) or 'the config'} must have {letters} for names; got {short(key)}"
    if line["type"] == "value_error":
        return f"{where}: {context['error']}"
    if line["type"] in ("unknown_kind", "no_kind"):
        return f"{where}: {line['msg']}"
    expected = "as described" if of_union else EXPECTED.get(line["type"], "").format_map(context)
    if line["type"] == "too_short" and isinstance(line["input"], Mapping):
        expected = f"a block of at least {context['min_length']} entries"
    if line["type"] == "literal_error" and not of_union:
        expected = "one of " + context["expected"].replace(" or ", ", ").replace("'", "")
    value = _at(block, path) if of_union else line["input"]
    if line["type"] == "float_type" and isinstance(value, str) and _is_number(value):
        expected += " (yaml reads this as text: write it with a point, such as 1.0e-1)"
    if line["type"] == "float_type" and isinstance(value, int) and not isinstance(value, bool):
        expected = "at most 1.8e308 in size, as float64 is"
    meaning = _description(model, path, block)
    got = short(_plain(value))
    return f"{where} must be {expected or line['msg']}; got {got}" + (f" ({meaning})" if meaning else "")


def _plain(value: Any) -> Any:
    """Lists as the config has them, at any depth."""
    return list(map(_plain, value)) if isinstance(value, list | tuple) else value


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _joined(place: str, path: Sequence[Any]) -> str:
    return ".".join(filter(None, [place, *map(spelled, path)]))


def _path(place: Sequence[Any], block: Any) -> list[Any]:
    """As much of an error's place as leads through the block: the rest names a member of a union."""
    path: list[Any] = []
    for key in place:
        if (isinstance(block, Mapping) and key in block) or (
            isinstance(block, Sequence) and not isinstance(block, str) and isinstance(key, int) and key < len(block)
        ):
            block = block[key]
        else:
            break
        path.append(key)
    return path


def _at(block: Any, path: Sequence[Any]) -> Any:
    for key in path:
        block = block[key]
    return block


def _fields(model: Any, path: Sequence[Any], block: Any) -> dict[str, FieldInfo]:
    """Fields of the settings at a path."""
    for key in path:
        field = model.model_fields.get(key) if model is not None else None
        block = block.get(key) if isinstance(block, Mapping) else None
        model = _model_of(field, block) if field else None
        if model is None and field is not None:
            model = _Entries(_model_in(field.annotation))
    return {} if model is None else dict(model.model_fields)


class _Entries:
    """The entries of a mapping, which have any names and settings of one kind."""

    def __init__(self, model: type[Settings] | None) -> None:
        self.model_fields = _Any(FieldInfo(annotation=model)) if model else {}


class _Any(dict[str, FieldInfo]):
    def __init__(self, field: FieldInfo) -> None:
        super().__init__()
        self.field = field

    def get(self, key: str, default: Any = None) -> FieldInfo:
        return self.field


def _model_of(field: FieldInfo, block: Any) -> type[Settings] | None:
    """The settings that a field holds: its own, or of a choice those that the block names."""
    registry = next((entry for entry in field.metadata if isinstance(entry, Registry)), None)
    if registry is not None:
        return registry.kind_of(block)
    if getattr(field.annotation, "__origin__", None) is dict:
        return None
    return _model_in(field.annotation)


def _model_in(annotation: Any) -> type[Settings] | None:
    """The settings in an annotation such as X | None or dict[str, X]."""
    if isinstance(annotation, type) and issubclass(annotation, Settings):
        return annotation
    return next((found for part in get_args(annotation) if (found := _model_in(part))), None)


def _description(model: Any, path: Sequence[Any], block: Any) -> str:
    """The meaning of the entry at a path, or of the list that it is in."""
    while path and isinstance(path[-1], int):
        path = path[:-1]
    if not path:
        return ""
    field = _fields(model, path[:-1], block).get(path[-1])
    return (field.description or "") if field else ""
