"""Settings: what the environment may say, and the sentence for each thing it may not."""

from contextlib import suppress
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tocsin.settings import Address, InvalidSettings, Settings, load_settings


def problems(**variables: str) -> list[str]:
    with pytest.raises(InvalidSettings) as refusal:
        load_settings({f"TOCSIN_{name}": value for name, value in variables.items()})
    return refusal.value.problems


def test_an_empty_environment_gives_the_documented_defaults() -> None:
    settings = load_settings({"PATH": "/bin", "HOME": "/"})
    assert settings == Settings()
    assert (settings.prefix, settings.tenant, settings.pool) == ("tocsin", "default", "default")
    assert (settings.slots, settings.lease_ms, settings.catch_up_rate) == (64, 60_000, 500)
    assert settings.worker_source == "group"
    assert settings.brokers is None
    assert settings.http_allow == ()


def test_every_documented_name_is_read(tmp_path: Path) -> None:
    settings = load_settings(
        {
            "TOCSIN_BROKERS": "a:9092, b:9093",
            "TOCSIN_PREFIX": "jobs.prod",
            "TOCSIN_STATE_DIR": "state",
            "TOCSIN_NODE_ID": "node-1",
            "TOCSIN_LISTEN": ":9101",
            "TOCSIN_DATABASE_URL": "postgresql+psycopg://tocsin:pw@db/tocsin",
            "TOCSIN_HISTORY_AGE": "P90D",
            "TOCSIN_HISTORY_RUNS": "50",
            "TOCSIN_GATEWAY_URL": "https://tocsin.example",
            "TOCSIN_API_TOKEN": "token",
            "TOCSIN_TENANT": "acme",
            "TOCSIN_POOL": "gpu",
            "TOCSIN_SLOTS": "8",
            "TOCSIN_HANDLER_SLOTS": "http=32, container=4",
            "TOCSIN_HOST_SLOTS": "8",
            "TOCSIN_LEASE": "PT2M",
            "TOCSIN_GRACE": "0s",
            "TOCSIN_STRICT_PRIORITY": "true",
            "TOCSIN_TASKS": "shop.tasks, reports",
            "TOCSIN_HTTP_ALLOW": "10.1.0.0/16, ::1 internal.example",
            "TOCSIN_SECRETS_DIR": str(tmp_path),
            "TOCSIN_WORKER_SOURCE": "share",
            "TOCSIN_CATCH_UP_RATE": "100",
            "TOCSIN_KAFKA__SECURITY_PROTOCOL": "SASL_SSL",
        }
    )
    assert settings.bootstrap() == "a:9092,b:9093"
    assert (settings.prefix, settings.node_id, settings.tenant) == ("jobs.prod", "node-1", "acme")
    assert (settings.state_dir, settings.secrets_dir) == (Path("state"), tmp_path)
    assert settings.listen == Address("", 9101)
    assert settings.database_url is not None
    assert settings.database_url.get_secret_value().endswith("@db/tocsin")
    assert (settings.history_age_ms, settings.history_runs) == (90 * 86_400_000, 50)
    assert settings.gateway_url == "https://tocsin.example"
    assert settings.api_token is not None
    assert settings.api_token.get_secret_value() == "token"
    assert (settings.pool, settings.slots, settings.lease_ms) == ("gpu", 8, 120_000)
    assert (settings.grace_ms, settings.strict_priority) == (0, True)
    assert (settings.handler_slots, settings.host_slots) == ({"http": 32, "container": 4}, 8)
    assert settings.tasks == ("shop.tasks", "reports")
    assert settings.http_allow == ("10.1.0.0/16", "::1", "internal.example")
    assert (settings.worker_source, settings.catch_up_rate) == ("share", 100)
    assert settings.kafka == {"security.protocol": "SASL_SSL"}


@pytest.mark.parametrize(
    "name", ["SECURITY_PROTOCOL", "security_protocol", "security.protocol", "Security.Protocol"]
)
def test_a_kafka_property_may_be_spelt_as_the_shell_or_as_kafka_does(name: str) -> None:
    assert load_settings({f"TOCSIN_KAFKA__{name}": "SSL"}).kafka == {"security.protocol": "SSL"}


@pytest.mark.parametrize("text", ["60", "60s", "1m", "PT1M", " 60s "])
def test_a_lease_may_be_written_in_every_form_of_a_duration(text: str) -> None:
    assert load_settings({"TOCSIN_LEASE": text}).lease_ms == 60_000


@pytest.mark.parametrize(
    ("text", "address"),
    [
        ("127.0.0.1:8080", Address("127.0.0.1", 8080)),
        (":0", Address("", 0)),
        ("[::1]:9102", Address("::1", 9102)),
        ("localhost:1", Address("localhost", 1)),
    ],
)
def test_an_address_to_listen_on(text: str, address: Address) -> None:
    assert load_settings({"TOCSIN_LISTEN": text}).listen == address


def test_an_empty_value_counts_as_left_out() -> None:
    assert load_settings({"TOCSIN_NODE_ID": "", "TOCSIN_SLOTS": ""}) == Settings()


def test_an_unknown_name_is_refused_and_the_nearest_one_named() -> None:
    assert problems(BROKER="a:1") == [
        "TOCSIN_BROKER is no setting: did you mean TOCSIN_BROKERS?",
    ]
    assert problems(KAFKA_SSL_CA="f") == [
        "TOCSIN_KAFKA_SSL_CA is no setting: did you mean TOCSIN_KAFKA__SSL_CA?"
    ]
    assert problems(ZZZ="1") == ["TOCSIN_ZZZ is no setting"]


@pytest.mark.parametrize(
    "name",
    [
        *["SECRET_BILLING", "RUN_ID", "JOB_ID", "SCHEDULED_TIME", "ATTEMPT", "PAYLOAD"],
        "TEST_POSTGRES",
    ],
)
def test_what_has_another_purpose_is_no_setting_and_no_error(name: str) -> None:
    assert load_settings({f"TOCSIN_{name}": "x"}) == Settings()


ADDRESS = "write HOST:PORT, or :PORT for all addresses of the machine"
NUMBER = "write a whole number from 1 to"
LABEL = "write 1 to 63 of a-z, 0-9 and '-', beginning with a letter or digit"


@pytest.mark.parametrize(
    ("name", "value", "sentence"),
    [
        ("SLOTS", "many", f"{NUMBER} 10000"),
        ("HANDLER_SLOTS", "http", "write handler=number, such as http=32,container=4"),
        ("HANDLER_SLOTS", "http=1,http=2", "write handler=number, such as http=32,container=4"),
        ("HANDLER_SLOTS", "http=0", f"{NUMBER} 10000"),
        ("HOST_SLOTS", "0", f"{NUMBER} 10000"),
        (
            "TASKS",
            "shop/tasks.py",
            "'shop/tasks.py' is not the name of a module such as package.tasks",
        ),
        ("SLOTS", "0", f"{NUMBER} 10000"),
        ("SLOTS", "²", f"{NUMBER} 10000"),
        ("CATCH_UP_RATE", "-1", f"{NUMBER} 100000"),
        ("LEASE", "soon", "'soon' is no duration: write 90s, 5m, 2h, 1d or PT1H30M"),
        ("LEASE", "1s", "1 is too short: the least is PT3S"),
        ("GRACE", "2d", "172800 is too long: the most is P1D"),
        ("STRICT_PRIORITY", "yes", "write true or false"),
        ("BROKERS", "kafka", "write HOST:PORT, several of them with commas between"),
        ("LISTEN", "8080", ADDRESS),
        ("LISTEN", "h:70000", ADDRESS),
        ("WORKER_SOURCE", "topic", "write group or share"),
        ("TENANT", "Acme", LABEL),
        ("PREFIX", "a/b", "write 1 to 100 of A-Z, a-z, 0-9, '.', '_' and '-'"),
        ("GATEWAY_URL", "t:8080", "write a URL such as https://tocsin.example, without a query"),
        (
            "HTTP_ALLOW",
            "10.0.0.1/8",
            "'10.0.0.1/8' is neither a network such as 10.1.0.0/16 nor a host such as i.example",
        ),
        ("HTTP_ALLOW", "10.1", "'10.1' is part of an address; write a network: 10.1.0.0/16"),
        ("SECRETS_DIR", "nowhere", "there is no such folder"),
        ("CLUSTERS", "nowhere.yaml", "there is no such file"),
        ("KUBERNETES", "nowhere", "there is no such file"),
        ("CONTAINER_SOCKET", "docker.sock", "write an absolute path such as /run/docker.sock"),
        ("PROCESS", "on", "write true or false"),
    ],
)
def test_a_wrong_value_gives_one_sentence(name: str, value: str, sentence: str) -> None:
    assert problems(**{name: value}) == [f"TOCSIN_{name} {value!r}: {sentence}"]


def test_all_that_is_wrong_is_said_at_once() -> None:
    found = problems(SLOTS="x", LEASE="x", SLOT="8")
    assert [sentence.split()[0] for sentence in found] == [
        "TOCSIN_SLOT",
        "TOCSIN_SLOTS",
        "TOCSIN_LEASE",
    ]


def test_secrets_are_shown_neither_by_the_settings_nor_by_an_error() -> None:
    settings = load_settings(
        {
            "TOCSIN_API_TOKEN": "hunter2",
            "TOCSIN_DATABASE_URL": "postgresql://tocsin:hunter2@db/tocsin",
            "TOCSIN_KAFKA__SASL_PASSWORD": "hunter2",
        }
    )
    assert "hunter2" not in f"{settings} {settings!r}"
    (sentence,) = problems(DATABASE_URL="mysql://root:hunter2@db")
    assert "hunter2" not in sentence
    assert sentence.startswith("TOCSIN_DATABASE_URL: write sqlite:///FILE")
    assert problems(API_TOKEN="hunter2\n") == [
        "TOCSIN_API_TOKEN: write a token of printable ASCII characters, without blanks"
    ]


def test_a_service_without_brokers_is_told_what_to_set() -> None:
    with pytest.raises(InvalidSettings, match="TOCSIN_BROKERS is not set"):
        Settings().bootstrap()


@given(st.sampled_from(sorted(Settings.model_fields)), st.text(st.characters(codec="utf-8")))
def test_no_value_whatever_escapes_as_another_error(field: str, value: str) -> None:
    name = f"TOCSIN_{field.removesuffix('_ms').upper()}"
    with suppress(InvalidSettings):
        load_settings({name: value})
