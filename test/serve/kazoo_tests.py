"""kazoo's own tests of its recipes, with `colock serve`.

    kazoo_tests.py COLOCK [TEST...]      all tests of recipes, or those named: test_lock, test_lock.KazooLockTests.test_lock

Prints a line for each module, and what has failed. Status 77: kazoo's tests are not here.
"""

import importlib
import logging
import os
import subprocess
import sys
import threading
import types
import unittest
import warnings
from unittest import mock

MODULES = (
    "test_barrier test_client test_counter test_election test_lease test_lock test_partitioner "
    "test_party test_queue test_watchers"
).split()

# What docs/serve.md says that it does otherwise, or has not.
OTHERWISE = {
    "test_create_null_data": "no data are empty data",
    "test_set_null_data": "no data are empty data",
    "test_add_remove_observer": "no reconfiguration",
    "test_bad_input": "no reconfiguration",
    "test_no_super_auth": "no reconfiguration",
    "test_request_queuing_session_expired": "restarts the server",
    "test_request_queuing_session_recovered": "restarts the server",
    "test_update_host_list": "restarts the server",
}


class Raises:
    """As pytest.raises()."""

    def __init__(self, *expected):
        self.expected = expected
        self.value = None

    def __enter__(self):
        return self

    def __exit__(self, kind, value, trace):
        if kind is None:
            raise AssertionError(f"{self.expected} was not raised")
        self.value = value
        return issubclass(kind, self.expected)


def stand_in_for_pytest():
    """kazoo's tests are unittest's, and use two functions of pytest, and mock by its former name."""
    try:
        import pytest  # noqa: F401
    except ImportError:
        module = types.ModuleType("pytest")
        module.raises = lambda *expected, **_: Raises(*expected)
        module.mark = mock.MagicMock()
        module.skip = lambda why: (_ for _ in ()).throw(unittest.SkipTest(why))
        sys.modules["pytest"] = module
    sys.modules.setdefault("mock", mock)


class OneServer:
    """What kazoo takes for its cluster."""

    def __init__(self, address):
        self.address = address
        self.running = True

    def __iter__(self):
        return iter([self])

    def __getitem__(self, at):
        return [self][at]

    def __len__(self):
        return 1


def main(colock, wanted):
    stand_in_for_pytest()
    os.environ.setdefault("ZOOKEEPER_VERSION", "3.9.3")
    try:
        from kazoo.testing import harness

        importlib.import_module("kazoo.tests.test_lock")
    except ImportError as error:
        print("skipped:", error)
        return 77
    logging.disable(logging.CRITICAL)
    warnings.simplefilter("ignore")
    server = subprocess.Popen(
        [colock, "serve", "--port", "0", "--quiet", "--session-timeout", "1s:60s"],
        stdout=subprocess.PIPE,
        text=True,
    )
    failed = 0
    try:
        address = server.stdout.readline().strip()
        harness.get_global_cluster = lambda: OneServer(address)
        for name in wanted or MODULES:
            suite = unittest.defaultTestLoader.loadTestsFromName("kazoo.tests." + name)
            result = unittest.TestResult()
            suite.run(result)
            bad = [
                (case, why)
                for case, why in result.failures + result.errors
                if getattr(case, "_testMethodName", "") not in OTHERWISE
            ]
            known = len(result.failures) + len(result.errors) - len(bad)
            failed += len(bad)
            print(
                f"kazoo {name}: {result.testsRun - len(bad) - known - len(result.skipped)} passed, "
                f"{len(result.skipped)} skipped, {known} otherwise, {len(bad)} failed",
                flush=True,
            )
            for case, why in bad:
                print(f"  {case}\n{why}", flush=True)
    finally:
        server.kill()
        server.wait()
    return 1 if failed else 0


if __name__ == "__main__":
    status = main(sys.argv[1], sys.argv[2:])
    sys.stdout.flush()
    # kazoo leaves threads that wait for good where a test has failed.
    os._exit(status) if threading.active_count() > 1 else sys.exit(status)
