"""The store in RocksDB: one database a partition, all within one bound of memory.

Memory must not grow with the number of stored jobs. One cache holds the blocks, the indexes and
filters (in partitions, so that one of them is not half the cache) and the write buffers of all
databases of the process. Nothing is mapped into memory.

A write goes to the write-ahead log without waiting for the disk: what a crash of the machine
takes is replayed from Kafka.
"""

import logging
import shutil
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, cast

from rocksdict import (
    BlockBasedIndexType,
    BlockBasedOptions,
    Cache,
    DBCompressionType,
    Options,
    Rdict,
    ReadOptions,
    WriteBatch,
    WriteBufferManager,
)

from tocsin_scheduler.core.store import StoreDamaged

LOG = logging.getLogger(__name__)

MIB = 1024 * 1024
CACHE_BYTES = 16 * MIB
WRITE_BUFFERS_BYTES = 8 * MIB
_BLOCK_BYTES = 8 * 1024
_WRITE_BUFFER_BYTES = 4 * MIB
_WAL_BYTES = 16 * MIB
_BLOOM_BITS = 10
_OPEN_FILES = 128


class RocksStores:
    """The databases under `folder`, one directory each."""

    def __init__(self, folder: Path, cache_bytes: int = CACHE_BYTES) -> None:
        self._folder = folder
        self._options = _options(cache_bytes)

    def open(self, name: str) -> "RocksStore":
        path = self._folder / name
        self._folder.mkdir(parents=True, exist_ok=True)
        try:
            return RocksStore(path, self._options)
        except StoreDamaged as error:
            if _is_open_elsewhere(error):
                raise
            LOG.warning("%s; it is made anew", error, extra={"action": "store_wiped"})
            shutil.rmtree(path, ignore_errors=True)
            return RocksStore(path, self._options)

    def names(self) -> list[str]:
        """The stores there are."""
        return [path.name for path in self._folder.glob("*/")]

    def remove(self, name: str) -> None:
        """Delete a store that nobody has open."""
        shutil.rmtree(self._folder / name, ignore_errors=True)


class RocksStore:
    """See `core.store.Store`. An iterator that is not used up holds the directory's lock until it
    is dropped, even beyond `close`."""

    def __init__(self, path: Path, options: Options) -> None:
        self._path = path
        self._options = options
        self._db: Any = _open(path, options)
        """None once it is closed."""

    def get(self, key: bytes) -> bytes | None:
        try:
            value: bytes | None = self._db.get(key)
        except Exception as error:  # rocksdict raises nothing narrower
            raise _damaged("read", self._path, error) from error
        return value

    def get_many(self, keys: Sequence[bytes]) -> list[bytes | None]:
        try:
            values = cast(list[bytes | None], self._db.get(list(keys)))
        except Exception as error:
            raise _damaged("read", self._path, error) from error
        return values

    def scan(self, start: bytes, end: bytes) -> Iterator[tuple[bytes, bytes]]:
        if start >= end:
            return iter(())
        until = ReadOptions()
        until.set_iterate_upper_bound(end)
        items = self._db.items(from_key=start, read_opt=until)
        return self._pairs(cast(Iterator[tuple[bytes, bytes]], items), until)

    def write(self, changes: Mapping[bytes, bytes | None]) -> None:
        batch = WriteBatch(raw_mode=True)
        put, delete = batch.put, batch.delete
        for key, value in changes.items():
            if value is None:
                delete(key)
            else:
                put(key, value)
        try:
            self._db.write(batch)
        except Exception as error:
            raise _damaged("write", self._path, error) from error

    def wipe(self) -> None:
        self.delete()
        self._db = _open(self._path, self._options)

    def delete(self) -> None:
        self.close()
        shutil.rmtree(self._path, ignore_errors=True)

    def close(self) -> None:
        """After a failed write a database says so once more; it is let go all the same."""
        db, self._db = self._db, None
        if db is None:
            return
        try:
            db.close()
        except Exception as error:  # noqa: BLE001 - rocksdict raises nothing narrower
            LOG.warning("%s", _damaged("close", self._path, error), extra={"action": "store_left"})

    def _pairs(
        self, items: Iterator[tuple[bytes, bytes]], until: ReadOptions
    ) -> Iterator[tuple[bytes, bytes]]:
        """`until` owns the bytes of the upper bound, to which RocksDB keeps only a pointer."""
        try:
            yield from items
            del until
        except Exception as error:
            raise _damaged("read", self._path, error) from error


def _open(path: Path, options: Options) -> Rdict:
    try:
        return Rdict(str(path), options)
    except Exception as error:
        raise _damaged("open", path, error) from error


def _damaged(doing: str, path: Path, error: Exception) -> StoreDamaged:
    return StoreDamaged(f"could not {doing} the local store {path}: {error}")


def _is_open_elsewhere(error: StoreDamaged) -> bool:
    """RocksDB says so in words only: `lock hold by current process`, `While lock file`."""
    return "lock " in str(error)


def _options(cache_bytes: int) -> Options:
    cache = Cache(cache_bytes)
    options = Options(raw_mode=True)
    options.create_if_missing(create_if_missing=True)
    options.set_write_buffer_manager(
        WriteBufferManager.new_write_buffer_manager_with_cache(
            WRITE_BUFFERS_BYTES, allow_stall=False, cache=cache
        )
    )
    options.set_write_buffer_size(_WRITE_BUFFER_BYTES)
    options.set_max_write_buffer_number(2)
    options.set_max_total_wal_size(_WAL_BYTES)
    options.set_max_open_files(_OPEN_FILES)
    options.set_allow_mmap_reads(is_enabled=False)
    options.set_compression_type(DBCompressionType.lz4())
    options.set_level_compaction_dynamic_level_bytes(v=True)
    options.set_keep_log_file_num(2)
    options.set_max_log_file_size(MIB)
    options.set_block_based_table_factory(_tables(cache))
    return options


def _tables(cache: Cache) -> BlockBasedOptions:
    tables = BlockBasedOptions()
    tables.set_block_cache(cache)
    tables.set_block_size(_BLOCK_BYTES)
    tables.set_bloom_filter(_BLOOM_BITS, block_based=False)
    tables.set_index_type(BlockBasedIndexType.two_level_index_search())
    tables.set_partition_filters(size=True)
    tables.set_cache_index_and_filter_blocks(v=True)
    tables.set_pin_top_level_index_and_filter(v=True)
    tables.set_pin_l0_filter_and_index_blocks_in_cache(v=True)
    tables.set_format_version(5)
    return tables
