"""What is kept of a program's output is bounded, in order, and holds no secret."""

import json

from hypothesis import given
from hypothesis import strategies as st

from tocsin_worker.handlers.disclosure import Disclosure
from tocsin_worker.handlers.output import HEAD_BYTES, TAIL_BYTES, Output, program_result
from tocsin_worker.handlers.secrets import Secrets
from tocsin_worker.limits import RESULT_BYTES

KEPT = HEAD_BYTES + TAIL_BYTES


def disclosed(*secrets: str) -> Disclosure:
    disclosure = Disclosure(Secrets(None, {}))
    for secret in secrets:
        disclosure.note(secret)
    return disclosure


def fed(*parts: bytes) -> Output:
    output = Output()
    for part in parts:
        output.feed(part)
    return output


@given(st.lists(st.integers(0, 20_000), max_size=12))
def test_however_it_comes_the_beginning_and_the_end_are_kept(sizes: list[int]) -> None:
    whole = b"".join(b"%07d\n" % n for n in range(sum(sizes) // 8 + 1))[: sum(sizes)]
    parts, at = [], 0
    for size in sizes:
        parts.append(whole[at : at + size])
        at += size
    text = fed(*parts).text(disclosed()).encode()
    if len(whole) <= KEPT:
        assert text == whole
    else:
        head, _, rest = text.partition(b"\n[")
        left_out, _, tail = rest.partition(b" bytes left out]\n")
        assert whole.startswith(head)
        assert whole.endswith(tail)
        assert len(head) + len(tail) + int(left_out) == len(whole)
        assert len(tail) == TAIL_BYTES


@given(st.integers(0, 40_000), st.integers(0, 40_000))
def test_no_part_of_a_secret_is_kept_wherever_it_stands(before: int, after: int) -> None:
    secret = "correct-horse"
    text = fed(b"x" * before, secret.encode(), b"y" * after).text(disclosed(secret))
    assert not any(secret[n : n + 5] in text for n in range(len(secret) - 4))


@given(st.binary(max_size=200), st.integers(1, 2_000))
def test_the_result_is_json_within_its_limit(pattern: bytes, times: int) -> None:
    output = fed(pattern * times)
    result = program_result(3, output, output, disclosed())
    assert len(result) <= RESULT_BYTES
    assert json.loads(result)["exit_code"] == 3
