"""Prometheus' own strict parser of OpenMetrics: reads the text from standard input, prints each sample as a line of JSON."""

import json
import sys

from prometheus_client.openmetrics.parser import text_string_to_metric_families

for family in text_string_to_metric_families(sys.stdin.read()):
    for sample in family.samples:
        print(json.dumps([sample.name, sample.labels, float(sample.value)]))
