"""`tocsin tail`: the records of a topic, decoded."""

from collections.abc import Iterator
from typing import TYPE_CHECKING, Annotated

import typer

from tocsin_cli.failures import NEGATIVE, CommandFailed
from tocsin_cli.invocation import Output, invocation_of

if TYPE_CHECKING:
    from tocsin.broker.port import LogReader, Record, TopicPartition

BATCH = 500
REQUEST_S = 10.0
WAIT_S = 1.0


def register(app: typer.Typer) -> None:
    app.command("tail", short_help="Show the records of a topic, decoded.")(_tail)


def _tail(
    context: typer.Context,
    topic: Annotated[str, typer.Argument(help="Such as events, or tocsin.runs.normal.")],
    count: Annotated[
        int, typer.Option("-n", min=0, help="So many of each partition's last offsets.")
    ] = 10,
    from_beginning: Annotated[
        bool, typer.Option("--from-beginning", help="Everything the topic still has.")
    ] = False,
    follow: Annotated[
        bool, typer.Option("--follow", "-f", help="Go on with what comes, until Ctrl-C.")
    ] = False,
) -> None:
    """Show records as they stand on the log: place, time, key, headers, and the decoded value.

    Transactions that were aborted do not show; their records and markers take up offsets.
    """
    from tocsin.broker.kafka import KafkaCluster
    from tocsin_cli.surroundings import settings

    found = settings()
    cluster = KafkaCluster(found.bootstrap(), found.kafka, client_id="tocsin-tail")
    name = topic if topic.startswith(f"{found.prefix}.") else f"{found.prefix}.{topic}"
    partitions = cluster.topics([name], REQUEST_S)
    if name not in partitions:
        told = f"there is no topic {name}; 'tocsin topics plan' lists those of this installation"
        raise CommandFailed(told, NEGATIVE)
    reader = cluster.log_reader()
    try:
        places = _places(reader, name, partitions[name].partitions, count, from_beginning)
        for record in _records(reader, places, follow):
            print(_line(record, invocation_of(context).output), flush=follow)
    finally:
        reader.close()


def _places(
    reader: "LogReader", topic: str, partitions: int, count: int, from_beginning: bool
) -> "dict[TopicPartition, tuple[int, int]]":
    """Where to begin and where the end is, of the partitions that have something."""
    from tocsin.broker.port import TopicPartition

    names = [TopicPartition(topic, number) for number in range(partitions)]
    begins = reader.begin_offsets(names, REQUEST_S)
    ends = reader.end_offsets(names, REQUEST_S)
    return {
        name: (
            begins[name] if from_beginning else max(begins[name], ends[name] - count),
            ends[name],
        )
        for name in names
    }


def _records(
    reader: "LogReader", places: "dict[TopicPartition, tuple[int, int]]", follow: bool
) -> "Iterator[Record]":
    reader.assign({name: begin for name, (begin, _) in places.items()})
    open_ends = {name: end for name, (begin, end) in places.items() if begin < end}
    while follow or open_ends:
        yield from reader.poll_batch(BATCH, WAIT_S)
        for name, end in reader.take_ends().items():
            if end >= open_ends.get(name, end):
                open_ends.pop(name, None)


def _line(record: "Record", output: Output) -> str:
    import json

    from tocsin.timetable.instants import format_instant

    told = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "time": format_instant(record.timestamp),
        "key": None if record.key is None else record.key.decode("utf-8", "replace"),
        "headers": {name: value.decode("utf-8", "replace") for name, value in record.headers},
        "value": _value(record.value),
    }
    if output != "table":
        return json.dumps(told, ensure_ascii=False)
    headers = f" {told['headers']}" if record.headers else ""
    value = json.dumps(told["value"], ensure_ascii=False)
    place = f"{record.topic}[{record.partition}]@{record.offset}"
    return f"{told['time']} {place} {told['key']}{headers} {value}"


def _value(data: bytes | None) -> object:
    """What the bytes stand for; JSON inside Avro as JSON, what nobody can read in hexadecimal."""
    import msgspec

    from tocsin.wire.codec import WireError, codec_of

    if data is None:
        return None
    try:
        value = codec_of(data).decode(data)
    except WireError:
        return _text(data)
    fields = msgspec.to_builtins(value, builtin_types=(bytes,))
    return {name: field for name, field in _readable(fields).items() if field is not None}


def _readable(fields: dict[str, object]) -> dict[str, object]:
    return {
        name: _text(field)
        if isinstance(field, bytes)
        else _readable(field)
        if isinstance(field, dict)
        else field
        for name, field in fields.items()
    }


def _text(data: bytes) -> object:
    import json

    try:
        return json.loads(data)
    except (ValueError, RecursionError):
        return {"undecodable": data[:200].hex(), "bytes": len(data)}
