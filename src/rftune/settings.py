"""Settings: blocks whose fields carry type, range, default and meaning, and choices among the files of a folder.

From the fields follow what a config may say, the messages on what it may not, its JSON schema and config/README.md.
"""

from __future__ import annotations

import pkgutil
from collections.abc import Iterator, Mapping
from functools import cache
from importlib import import_module
from inspect import isabstract
from types import ModuleType
from typing import Annotated, Any, ClassVar, Generic, NamedTuple, Self, TypeVar, cast
from unicodedata import category

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, GetJsonSchemaHandler, model_validator
from pydantic_core import CoreSchema, PydanticCustomError, core_schema


class Settings(BaseModel):
    """A block of settings: immutable, checked when it is made, unknown keys refused."""

    model_config = ConfigDict(
        frozen=True, extra="forbid", strict=True, allow_inf_nan=False, validate_default=True, protected_namespaces=()
    )

    @model_validator(mode="before")
    @classmethod
    def _lists_as_tuples(cls, values: Any) -> Any:
        """Config files have lists only."""
        if not isinstance(values, Mapping):
            return values
        return {key: _as_tuple(value) for key, value in values.items()}

    def but(self, **changes: Any) -> Self:
        """The same with some entries changed, checked again."""
        return type(self)(**{name: getattr(self, name) for name in type(self).model_fields} | changes)

    def plain(self) -> dict[str, Any]:
        """Everything, defaults too, as a config file could hold it."""
        return self.model_dump(mode="json")

    def kinds(self) -> Iterator[Choice]:
        """The choices in it, at any depth."""
        for name in type(self).model_fields:
            value = getattr(self, name)
            if isinstance(value, Choice):
                yield value
            if isinstance(value, Settings):
                yield from value.kinds()


def _as_tuple(value: Any) -> Any:
    """A list as a tuple, at any depth."""
    return tuple(map(_as_tuple, value)) if isinstance(value, list) else value


class Normal(NamedTuple):
    """Normal distribution of an unconstrained parameter; in a config [mean, std].

    Unconstrained parameters are logarithms and logits: exp(100) is 3e43.
    """

    mean: Annotated[float, Field(ge=-100, le=100)]
    std: Annotated[float, Field(gt=0, le=100)]


# A variance whose inverse and square are far within float64.
Variance = Annotated[float, Field(ge=1e-20, le=1e20)]
# A number in the equations of a problem, whose fourth power float64 holds with room to spare.
Coefficient = Annotated[float, Field(ge=-1e6, le=1e6)]


def _different(entries: tuple[Any, ...]) -> tuple[Any, ...]:
    twice = next((entry for place, entry in enumerate(entries) if entry in entries[:place]), None)
    if twice is not None:
        raise ValueError(f"{twice!r} stands there twice: once is enough")
    return entries


def _printable(text: str) -> str:
    if not text.strip() or any(category(letter) in ("Cc", "Cs", "Cn", "Zl", "Zp") for letter in text):
        raise ValueError(f"must be one line without control characters; got {text!r}")
    return text


Different = AfterValidator(_different)  # of a list: no entry is there twice
Printable = AfterValidator(_printable)  # of text that figures show


class Choice(Settings):
    """A block that is one of several kinds. A kind is a class in a file of its own, and its name is the file's."""

    label: ClassVar[str] = "name"  # the key that names the kind

    @classmethod
    def kind_name(cls) -> str:
        return cls.__module__.rpartition(".")[2]

    def plain(self) -> dict[str, Any]:
        return {self.label: self.kind_name(), **super().plain()}


C = TypeVar("C", bound=Choice)


@cache
def _files(folders: tuple[str, ...]) -> tuple[str, ...]:
    """Names of the modules in folders, looked for once: a sweep asks for each of its thousands of points."""
    return tuple(sorted(module.name for module in pkgutil.iter_modules(folders)))


class Registry(Generic[C]):
    """The kinds of a choice: the files of a folder. To add one, add a file.

    In a config a kind is its name, or a block of its settings with its name under the base's ``label``; a block without
    a name is of the default kind, where there is one.
    """

    def __init__(self, package: str, base: type[Any], default: str = "") -> None:
        self.package, self.base, self.default_name = package, base, default

    def names(self) -> list[str]:
        return list(_files(tuple(import_module(self.package).__path__)))

    def __getitem__(self, name: str) -> type[C]:
        """The class of a name, whose file alone is imported."""
        module = import_module(self.module(name))
        kind: type[C] = next(entry for entry in vars(module).values() if self._is_kind(entry, module))
        return kind

    def default(self) -> C:
        """The kind that a block without a name is, at its own defaults."""
        return self.read({})

    def kind_of(self, value: Any) -> type[C] | None:
        """The class that a block asks for; None where it asks for none that there is."""
        name = value.get(self.base.label, self.default_name) if isinstance(value, Mapping) else value
        return self[name] if name in self.names() else None

    def module(self, name: str) -> str:
        """Full name of a kind's module; an error that lists the known ones."""
        if name not in self.names():
            raise PydanticCustomError(
                "unknown_kind", "{label} must be one of {known}; got {got}", self._context(self.base.label, name)
            )
        return f"{self.package}.{name}"

    def read(self, value: Any) -> C:
        """A kind from its instance, its name, or a block of its settings."""
        if isinstance(value, self.base):
            return cast(C, value)
        block = {self.base.label: value} if isinstance(value, str) else value
        if isinstance(block, Mapping) and self.default_name:
            block = {self.base.label: self.default_name, **block}
        if not isinstance(block, Mapping) or not isinstance(block.get(self.base.label), str):
            raise PydanticCustomError(
                "no_kind",
                "must be a name, or a block whose {label} is one of {known}; got {got}",
                self._context(self.base.label, value),
            )
        kind = self[block[self.base.label]]
        made: C = kind.model_validate({key: entry for key, entry in block.items() if key != self.base.label})
        return made

    def _context(self, label: str, value: Any) -> dict[str, Any]:
        return {"label": label, "known": ", ".join(self.names()), "got": repr(value)}

    def _is_kind(self, entry: Any, module: ModuleType) -> bool:
        """Whether it is defined there; pydantic leaves the parametrised base of a generic one there too."""
        own = isinstance(entry, type) and issubclass(entry, self.base) and entry.__module__ == module.__name__
        return own and not isabstract(entry)

    def __get_pydantic_core_schema__(self, source: Any, handler: Any) -> CoreSchema:
        as_plain = core_schema.plain_serializer_function_ser_schema(lambda kind: kind.plain())
        return core_schema.no_info_plain_validator_function(self.read, serialization=as_plain)

    def __get_pydantic_json_schema__(self, schema: CoreSchema, handler: GetJsonSchemaHandler) -> dict[str, Any]:
        blocks = []
        for name in self.names():
            block = handler.resolve_ref_schema(handler(self[name].__pydantic_core_schema__))
            named = {self.base.label: {"const": name}, **block.get("properties", {})}
            label = [] if name == self.default_name else [self.base.label]
            blocks.append({**block, "type": "object", "properties": named, "required": label})
        return {"anyOf": [{"enum": self.names()}, *blocks]}


__all__ = ["Choice", "Coefficient", "Different", "Field", "Normal", "Printable", "Registry", "Settings", "Variance"]
