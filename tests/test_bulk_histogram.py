"""The histogram for many observations says what prometheus-client's own says."""

from hypothesis import given
from hypothesis import strategies as st
from prometheus_client import CollectorRegistry, Histogram
from prometheus_client.exposition import generate_latest
from prometheus_client.parser import text_string_to_metric_families
from prometheus_client.samples import Sample

from tocsin.bulk_histogram import BulkHistogram

BOUNDS = (0.005, 0.25, 1.0, 60.0)
VALUES = st.sampled_from(BOUNDS) | st.floats(0, 100).map(lambda value: round(value, 3))


def exposed(registry: CollectorRegistry) -> dict[tuple[str, str], float]:
    """(name, bucket) -> value."""
    families = text_string_to_metric_families(generate_latest(registry).decode())
    samples: list[Sample] = [sample for family in families for sample in family.samples]
    return {
        (sample.name, sample.labels.get("le", "")): round(sample.value, 6)
        for sample in samples
        if not sample.name.endswith("_created")
    }


@given(st.lists(st.lists(VALUES)))
def test_many_at_a_time_count_as_one_by_one(batches: list[list[float]]) -> None:
    bulk, single = CollectorRegistry(), CollectorRegistry()
    many = BulkHistogram("late_seconds", "How late.", buckets=BOUNDS, registry=bulk)
    one = Histogram("late_seconds", "How late.", buckets=BOUNDS, registry=single)
    for batch in batches:
        many.observe_all(batch)
        for value in batch:
            one.observe(value)
    assert exposed(bulk) == exposed(single)
