"""The turns of requests: few at a time, in their order, and no long one holds up the others."""

from __future__ import annotations

import asyncio

import pytest

from localcdap.server.rest.app import Turns, _Turn


async def _hold(turns: Turns, name: str, begun: list[str], ends: asyncio.Event) -> None:
    async with turns.take():
        begun.append(name)
        await ends.wait()


async def _start(turns: Turns, names: str, begun: list[str], ends: asyncio.Event) -> asyncio.Future:
    task = asyncio.gather(*(_hold(turns, each, begun, ends) for each in names))
    await asyncio.sleep(0)
    await asyncio.sleep(0)
    return task


def test_two_requests_have_their_turn_at_a_time() -> None:
    async def run() -> tuple[list[str], list[str]]:
        turns, begun, ends = Turns(at_a_time=2, longest_s=600), [], asyncio.Event()
        task = await _start(turns, "abcd", begun, ends)
        first = list(begun)
        ends.set()
        await task
        return first, begun

    assert asyncio.run(run()) == (["a", "b"], ["a", "b", "c", "d"])


def test_a_request_that_takes_long_gives_its_turn_to_the_next() -> None:
    async def run() -> list[str]:
        turns, begun, ends = Turns(at_a_time=1, longest_s=0.001), [], asyncio.Event()
        task = await _start(turns, "abc", begun, ends)
        async with asyncio.timeout(60):
            while len(begun) < 3:
                await asyncio.sleep(0.001)
        ends.set()
        await task
        return begun

    assert asyncio.run(run()) == ["a", "b", "c"]


def test_a_turn_ends_once() -> None:
    """A turn that was given up early is not given back a second time at its end."""

    async def run() -> bool:
        free = asyncio.Semaphore(0)
        turn = _Turn(free)
        turn.end()
        turn.end()
        await free.acquire()
        return free.locked()

    assert asyncio.run(run())


@pytest.mark.parametrize("error", [ValueError, asyncio.CancelledError])
def test_a_turn_ends_with_an_error(error: type[BaseException]) -> None:
    async def run() -> bool:
        turns = Turns(at_a_time=1, longest_s=600)
        with pytest.raises(error):
            async with turns.take():
                raise error
        async with asyncio.timeout(60), turns.take():
            return True

    assert asyncio.run(run())
