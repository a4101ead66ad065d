"""python -m rdmagpu: what library this is, and what it finds on this machine."""
from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from typing import Any

import rdmagpu

_TINY = 65536


def _plain(value: Any) -> Any:
    """What JSON has a form for."""
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, rdmagpu.PciAddress)):
        return {field.name: _plain(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, rdmagpu.Kind):
        return value.name.lower().replace("_", "-")
    if isinstance(value, (list, tuple)):
        return [_plain(one) for one in value]
    if value is None or isinstance(value, (bool, int, float, str)):
        return value
    return str(value)


def _about(arguments: argparse.Namespace) -> tuple[dict[str, Any], int]:
    told: dict[str, Any] = {
        "version": rdmagpu.__version__,
        "library": rdmagpu.library_path,
        "python": sys.version.split()[0],
        "backends": rdmagpu.backends(),
    }
    with rdmagpu.Buffer(slots=1, frame_bytes=_TINY) as buffer:
        told["facts"] = buffer.facts
    return told, 0


def _list(arguments: argparse.Namespace) -> tuple[dict[str, Any], int]:
    return {"backends": rdmagpu.backends()}, 0


def _alloc(arguments: argparse.Namespace) -> tuple[dict[str, Any], int]:
    with rdmagpu.Buffer(arguments.api, slots=arguments.slots, frame_bytes=arguments.bytes) as buffer:
        return {"facts": buffer.facts, "handoffs": [slot.handoff for slot in buffer]}, 0


def _verify(arguments: argparse.Namespace) -> tuple[dict[str, Any], int]:
    with rdmagpu.Buffer(arguments.api, slots=arguments.slots, frame_bytes=arguments.bytes) as buffer:
        report = rdmagpu.verify(buffer)
        return {"facts": buffer.facts, "report": report, "ok": report.ok}, 0 if report.ok else 1


def _short(value: Any) -> Any:
    """For people: a failure is its message and what to do."""
    if isinstance(value, rdmagpu.Failure):
        return {"message": value.message, "hints": list(value.hints)}
    if dataclasses.is_dataclass(value) and not isinstance(value, (type, rdmagpu.PciAddress)):
        return {field.name: _short(getattr(value, field.name)) for field in dataclasses.fields(value)}
    if isinstance(value, (list, tuple)):
        return [_short(one) for one in value]
    return _plain(value)


def _print(value: Any, indent: str = "") -> None:
    for name, one in value.items():
        if isinstance(one, dict):
            print(f"{indent}{name}:")
            _print(one, indent + "  ")
        elif isinstance(one, list) and one and isinstance(one[0], dict):
            print(f"{indent}{name}:")
            for item in one:
                first = next(iter(item.values()))
                print(f"{indent}  - {first}")
                _print(dict(list(item.items())[1:]), indent + "    ")
        elif one not in (None, [], ""):
            for line in one if isinstance(one, list) else [one]:
                print(f"{indent}{name}: {({True: 'yes', False: 'no'}[line] if isinstance(line, bool) else line)}")


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(prog="python -m rdmagpu", description=__doc__)
    parser.set_defaults(run=_about)
    parser.add_argument("--json", action="store_true", help="print JSON")
    commands = parser.add_subparsers(title="commands", metavar="COMMAND")
    for name, run, about in (
        ("list", _list, "what this library can allocate, and where"),
        ("alloc", _alloc, "allocate, and show every fact and handoff"),
        ("verify", _verify, "write and read every slot through a peer in software, byte for byte"),
    ):
        command = commands.add_parser(name, help=about, description=about)
        command.set_defaults(run=run)
        command.add_argument("--json", action="store_true", default=argparse.SUPPRESS, help="print JSON")
        if run is not _list:
            command.add_argument("--api", default="auto", help="auto, host, cuda, ...; default auto")
            command.add_argument("--slots", type=int, default=4, help="default 4")
            command.add_argument("--bytes", type=int, default=1920 * 1080 * 2, help="of a frame; default 4147200")
    return parser


def main(words: list[str] | None = None) -> int:
    arguments = _parser().parse_args(words)
    try:
        told, status = arguments.run(arguments)
    except (rdmagpu.Error, ValueError) as error:
        if arguments.json:
            failure = error.failure if isinstance(error, rdmagpu.Error) else str(error)
            print(json.dumps({"error": _plain(failure)}, indent=1))
        else:
            print(f"rdmagpu: {error}", file=sys.stderr)
        return 2
    if arguments.json:
        print(json.dumps({name: _plain(one) for name, one in told.items()}, indent=1))
    else:
        _print({name: _short(one) for name, one in told.items()})
    return int(status)


if __name__ == "__main__":
    sys.exit(main())
