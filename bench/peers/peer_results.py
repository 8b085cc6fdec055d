"""Results of peers that are Python packages, as streampool-bench writes its own."""

import json
import statistics


def installed(makers):
    """Those of these peers whose packages are installed. The others are named."""
    for make in makers:
        try:
            yield make()
        except ImportError as error:
            print(f'left out: {error}')


def result(samples, **what):
    """What is measured, "device", "library", "case", "setting", "at", "subject" and "unit", with what is reported of its samples."""
    ordered = sorted(samples)
    first, median, third = statistics.quantiles(ordered, n=4, method='inclusive') if len(ordered) > 1 else ordered * 3
    one = {**what, 'simulated': False, 'samples': len(ordered), 'least': ordered[0], 'first_quartile': first, 'median': median,
           'third_quartile': third, 'most': ordered[-1], 'p99': ordered[round(0.99 * (len(ordered) - 1))]}
    print(f'{what["setting"]}, {what["subject"]}, {what["library"]}: {median:.5g} [{ordered[0]:.5g} .. {ordered[-1]:.5g}] {what["unit"]}')
    return one


def write(path, results):
    with open(path, 'w', encoding='utf-8') as file:
        json.dump(results, file, indent=1)
