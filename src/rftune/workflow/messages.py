"""What is wrong with settings, in sentences: what was expected, what came, what to do."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Any, get_args

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
    "string_pattern_mismatch": "a name of small letters, digits and _, a letter first",
    "named_tuple_type": "a list",
}


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
    for line in error.errors():
        path = _path(line["loc"], block)
        if line["type"] in ("extra_forbidden", "missing") and len(path) >= len(line["loc"]) - 1:
            grouped.setdefault((line["type"], tuple(line["loc"][:-1])), []).append(str(line["loc"][-1]))
            continue
        found[_sentence(line, path, len(path) < len(line["loc"]), model, block, place_of)] = None
    for (kind, within), keys in grouped.items():
        path = list(within)
        where = _joined(place_of([*path, keys[0]] if kind == "extra_forbidden" else path), path) or "the config"
        plural = "s" if len(keys) > 1 else ""
        named = ", ".join(map(repr, sorted(keys) if kind == "missing" else keys))
        if kind == "missing" and keys[0].isdigit():
            found[f"{where} must be a list of more entries; got {_short(_at(block, path))}"] = None
        elif kind == "missing":
            found[f"{where}: missing key{plural} {named}"] = None
        else:
            known = [*_fields(model, path, block), *(also_known if not path else ())]
            near = get_close_matches(keys[0], known, n=1)
            hint = f"did you mean {near[0]!r}?" if near else f"known keys: {', '.join(known)}"
            found[f"{where}: unknown key{plural} {named}; {hint}"] = None
    return list(found)


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
    if line["loc"] and line["loc"][-1] == "[key]":
        within = path[:-1]
        letters = "text" if line["type"] == "string_type" else "small letters, digits and _, a letter first,"
        return f"{_joined(place_of(within), within)} must have {letters} for names; got {_short(path[-1])}"
    if line["type"] == "value_error":
        return f"{where}: {context['error']}"
    if line["type"] in ("unknown_kind", "no_kind"):
        return f"{where}: {line['msg']}"
    expected = "as described" if of_union else EXPECTED.get(line["type"], "").format_map(context)
    if line["type"] == "literal_error" and not of_union:
        expected = "one of " + context["expected"].replace(" or ", ", ").replace("'", "")
    value = _at(block, path) if of_union else line["input"]
    if line["type"] == "float_type" and isinstance(value, str) and _is_number(value):
        expected += " (yaml reads this as text: write it with a point, such as 1.0e-1)"
    meaning = _description(model, path, block)
    plain = list(value) if isinstance(value, tuple) else value
    return f"{where} must be {expected or line['msg']}; got {_short(plain)}" + (f" ({meaning})" if meaning else "")


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 200 else f"{text[:200]}…"


def _is_number(text: str) -> bool:
    try:
        float(text)
    except ValueError:
        return False
    return True


def _joined(place: str, path: Sequence[Any]) -> str:
    return ".".join(filter(None, [place, *map(str, path)]))


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
