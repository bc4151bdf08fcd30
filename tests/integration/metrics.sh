# SPDX-License-Identifier: Apache-2.0
# shellcheck shell=bash
# What the tests of warprsa-stat --prometheus share; each sources this after
# lib.sh.

# shellcheck disable=SC2034 # of the tests
stat=$BUILD_DIR/batching/warprsa-stat
# The distribution's Python has the distribution's module.
for python in python3 /usr/bin/python3 ''; do
    "$python" -c 'import prometheus_client' 2>/dev/null && break
done
[ -n "$python" ] || skip "no python3-prometheus-client here"

# expect FILE METRIC{LABELS}=VALUE...: LABELS as name=value,name=value; VALUE
# may be some, which is any number above 0, or none: there is no such series.
expect() {
    "$python" - "$@" <<'END'
import sys
from prometheus_client.parser import text_string_to_metric_families
found = {}
for family in text_string_to_metric_families(open(sys.argv[1]).read()):
    assert family.documentation and family.type != "unknown", family
    for sample in family.samples:
        key = sample.name, frozenset(sample.labels.items())
        assert key not in found, f"twice: {key}"
        found[key] = sample.value
for wanted in sys.argv[2:]:
    metric, _, value = wanted.rpartition("=")
    name, _, labels = metric.rstrip("}").partition("{")
    pairs = (label.split("=") for label in labels.split(",") if label)
    is_ = found.get((name, frozenset((n, v) for n, v in pairs)))
    good = (is_ is None if value == "none" else
            is_ and is_ > 0 if value == "some" else is_ == float(value))
    assert good, f"wanted {wanted}, it is {is_}"
END
}
