"""Delivery reports as futures."""

from concurrent.futures import Future

from tocsin.broker.errors import BrokerError
from tocsin.broker.port import Delivered, DeliveryCallback


def into(future: "Future[Delivered]") -> DeliveryCallback:
    """A callback that settles the future; a future that was cancelled meanwhile stays so."""

    def settle(delivery: Delivered | BrokerError) -> None:
        if not future.set_running_or_notify_cancel():
            return
        if isinstance(delivery, BrokerError):
            future.set_exception(delivery)
        else:
            future.set_result(delivery)

    return settle
