"""What the scripts of this folder make and complain about. Nothing is measured, and no file of the checkout is read."""

import copy
import json
import os
import tempfile
import unittest

import claims
import figures
import page
import results

WHERE = {'device': 'GPU', 'driver': '5.1', 'cuda': '13.0', 'date': '2026-11-24', 'runs': '7 samples', 'others': 'Peer 1'}
PAIR = {
    'id': 'a-pair', 'title': 'A pair', 'text': 'Nanoseconds.', 'where': WHERE, 'heading': 'size', 'best': 'least', 'unit': 'ns',
    'columns': [{'name': 'streampool', 'is': 'ours', 'subject': 'streampool'},
                {'name': 'Peer', 'is': 'other', 'subject': 'Peer'},
                {'name': 'floor', 'is': 'floor', 'subject': 'floor'},
                {'name': '÷ Peer', 'divide': ['streampool', 'Peer']}],
    'rows': [{'name': '1 KiB', 'of': 'pair: 1 KiB, ns', 'cells': [[77.8, 75.6, 86.0], 401, 33.4]},
             {'name': '1 MiB', 'of': 'pair: 1 MiB, ns', 'cells': [[500, 480, 520], 400, None]}],
    'means': [{'name': 'mean', 'of': ['1 KiB', '1 MiB'], 'over': 'Peer'}]}
HELD = {
    'id': 'memory-held', 'title': 'Memory held', 'text': 'GiB.', 'where': {**WHERE, 'date': '2026-11-25', 'runs': '2 starts'},
    'heading': 'program', 'best': 'least', 'decimals': 2,
    'columns': [{'name': 'in use', 'is': 'fact', 'subject': 'in use'}, {'name': 'streampool', 'is': 'ours', 'subject': 'pool'},
                {'name': 'Peer, other form', 'is': 'other', 'subject': 'Peer B', 'run': 'another'}],
    'rows': [{'name': 'gpt', 'of': 'replay gpt: GiB, pass 1', 'cells': [1, [1.5, 1.4, 1.6], [2, 2, 2]]}]}
PAGE = {'title': 'Benchmarks', 'lead': 'On WHERE.', 'ahead': 'These.', 'unshown': ['sizes', 'extra'], 'sections': [PAIR, HELD]}

README = '''# It

Medians on one GPU, 2026-11-24.

| | streampool | Peer's |
| --- | --- | --- |
| [a pair](docs/benchmarks.md#a-pair) of 1 KiB | **78 ns** | 401 ns |

- In the second one it [takes](docs/benchmarks.md#a-pair) 500 ns, as `f(7)` says, and it
  holds [less](docs/benchmarks.md#memory-held) (2026-11-25).
'''


def bench(size, subject, median, **more):
    return {'device': 'GPU', 'simulated': False, 'case': 'pair', 'setting': size, 'unit': 'ns', 'subject': subject, 'samples': 9,
            'median': median, 'least': median - 1, 'most': median + 1, **more}


def all_pairs():
    return [bench(size, subject, median) for size in ('1 KiB', '1 MiB')
            for subject, median in (('streampool', 88.88), ('Peer', 1000.4), ('floor', 30), ('extra', 1))]


def replay(allocator, held):
    return {'device': 'GPU', 'driver_version': '6.2', 'cuda_version': '13.1', 'date': '2026-12-01', 'trace': 'gpt', 'pass': 1,
            'allocator': allocator,
            'starts': [{'reserved_peak_bytes': held * results.GIB, 'live_peak_bytes': results.GIB, 'total_ns': 2e6}] * 3}


class Numbers(unittest.TestCase):
    def test_three_digits_are_shown_or_the_decimals_of_the_section(self):
        for value, text in ((1234.5, '1,234'), (99.96, '100'), (99.94, '99.9'), (9.996, '10.0'), (1.274, '1.27'), (0.0995, '0.10'),
                            (0.0404, '0.040'), (0, '0'), (86, '86'), (86.0, '86.0')):
            self.assertEqual(figures.number(value), text)
        self.assertEqual(figures.number(1.0105, 3), '1.010')

    def test_a_cell_shows_its_spread_where_it_has_one(self):
        self.assertEqual(figures.shown([77.8, 75.6, 86.0]), '77.8 [75.6–86.0]')
        self.assertEqual([figures.shown(cell) for cell in ([4, 4, 4], 'ten', None)], ['4', 'ten', '–'])

    def test_a_quotient_and_a_mean_are_made_of_medians(self):
        rows = dict(figures.table(PAIR))
        self.assertAlmostEqual(rows['1 KiB'][3], 77.8 / 401)
        self.assertAlmostEqual(rows['mean'][0], (77.8 / 401 * 500 / 400) ** 0.5)
        self.assertEqual(rows['mean'][2:], [None, rows['mean'][0]])


class Complaints(unittest.TestCase):
    def wrong(self, **changes):
        section = {**copy.deepcopy(PAIR), **changes}
        return figures.complaints({key: value for key, value in section.items() if value is not None})

    def test_a_section_is_as_the_page_needs_it(self):
        self.assertEqual(self.wrong(), [])
        rows, columns = PAIR['rows'], PAIR['columns']
        for changes in ({'text': None}, {'color': 1}, {'title': 'Other'}, {'best': 'worst'}, {'where': {**WHERE, 'day': 1}},
                        {'where': {**WHERE, 'date': '24.11.'}}, {'where': {**WHERE, 'device': ''}},
                        {'rows': rows + [{'name': '2', 'cells': [1, 2]}]}, {'rows': rows + [rows[0]]},
                        {'rows': rows + [{'name': '2', 'cells': [[2, 3, 4], 1, 1]}]}, {'means': [{'name': 'mean', 'of': ['1 GiB']}]},
                        {'columns': columns[:3] + [{'name': '÷', 'divide': ['streampool', 'CUDA']}]},
                        {'columns': columns[:2] + [{'name': 'floor', 'is': 'roof'}]}):
            self.assertEqual(len(self.wrong(**changes)), 1, changes)

    def test_what_is_written_is_read_again(self):
        with tempfile.TemporaryDirectory() as folder:
            figures.write(f'{folder}/figures.json', PAGE)
            self.assertEqual(figures.read(f'{folder}/figures.json'), PAGE)
            with self.assertRaisesRegex(figures.Wrong, 'a-pair is there twice'):
                figures.write(f'{folder}/figures.json', {**PAGE, 'sections': [PAIR, PAIR]})
            self.assertEqual(figures.read(f'{folder}/figures.json'), PAGE)


class Page(unittest.TestCase):
    def test_the_best_is_bold_and_the_place_is_told_once(self):
        text = page.page_text(PAGE)
        self.assertIn('On one GPU (driver 5.1, CUDA 13.0) on 2026-11-24, with Peer 1.', text)
        self.assertIn('*7 samples.*', text)
        self.assertIn('*2026-11-25, 2 starts.*', text)
        self.assertIn('| 1 KiB | **77.8** [75.6–86.0] | 401 | 33.4 | 0.19 |', text)
        self.assertIn('| 1 MiB | 500 [480–520] | **400** | – | 1.25 |', text)

    def test_who_is_ahead_is_found_in_the_rows(self):
        self.assertEqual(list(figures.ahead(PAIR)), [('1 MiB', '500', [('Peer', '400')])])
        self.assertIn('| [A pair](#a-pair) | 1 MiB | 500 | Peer 400 |', page.page_text(PAGE))
        most = {**PAIR, 'best': 'most'}
        self.assertEqual([row for row, _, _ in figures.ahead(most)], ['1 KiB'])

    def test_a_plot_is_of_the_figures_that_are_no_facts(self):
        drawn = list(page.results_of(PAIR))
        self.assertEqual(len(drawn), 5)
        self.assertEqual(drawn[0], {'device': 'GPU, 2026-11-24', 'trace': '1 KiB', 'allocator': 'streampool', 'pass': 1,
                                    'ratio': {'median': 77.8, 'least': 75.6, 'most': 86.0}})
        self.assertEqual([one['allocator'] for one in page.results_of(HELD)], ['streampool', 'Peer, other form'])


def unmeasured(others):
    """PAIR before anybody measured it."""
    return {**PAIR, 'where': {'others': ''} if others else {}, 'rows': [{**row, 'cells': [None] * 3} for row in PAIR['rows']]}


class Unmeasured(unittest.TestCase):
    def test_a_section_without_figures_is_not_on_the_page(self):
        self.assertEqual(figures.complaints(unmeasured(others=True)), [])
        text = page.files_of({**PAGE, 'sections': [unmeasured(others=False), HELD]}, 'no program')[page.PAGE]
        self.assertIn('## Memory held', text)
        self.assertNotIn('A pair', text)

    def test_a_section_without_figures_is_filled_as_a_whole(self):
        with tempfile.TemporaryDirectory() as folder:
            with open(f'{folder}/0.json', 'w', encoding='utf-8') as out:
                json.dump([one for one in all_pairs() if one['setting'] == '1 KiB'], out)
            runs = [results.Results(f'{folder}/0.json')]
        given, empty = {'driver': '6.2', 'cuda': '13.1', 'date': '2026-12-01'}, {**PAGE, 'sections': [unmeasured(others=False)]}
        made, told = results.take(empty, runs, given, False)
        self.assertEqual((made, len(told)), (empty, 1))
        self.assertIn('left as it is', told[0])
        made, _ = results.take(empty, runs, given, True)
        self.assertTrue(figures.is_measured(made['sections'][0]))
        self.assertNotIn('others', made['sections'][0]['where'])


class Take(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = folder.name

    def take(self, *files, gaps=False, **given):
        runs = []
        for i, file in enumerate(files):
            path = os.path.join(self.folder, f'{i}.json')
            with open(path, 'w', encoding='utf-8') as out:
                json.dump(file, out)
            runs.append(results.Results(path))
        before = copy.deepcopy(PAGE)
        made = results.take(PAGE, runs, given, gaps)
        self.assertEqual(PAGE, before)
        return made

    def refused(self, why, *files, **given):
        with self.assertRaisesRegex(figures.Wrong, why):
            self.take(*files, **given)

    def test_results_take_the_place_of_the_rows_that_they_cover(self):
        made, told = self.take(all_pairs(), driver='6.2', cuda='13.1', date='2026-12-01', others='Peer 2')
        pair, held = made['sections']
        self.assertEqual(pair['rows'][0]['cells'], [[88.9, 87.9, 89.9], [1000, 999, 1001], [30, 29, 31]])
        self.assertEqual(pair['where'], {'device': 'GPU', 'driver': '6.2', 'cuda': '13.1', 'date': '2026-12-01', 'runs': '9 samples',
                                         'others': 'Peer 2'})
        self.assertEqual(held, HELD)
        self.assertEqual(told, ['a-pair: of 2026-12-01, from 0.json'])

    def test_a_replay_says_where_the_others_were_measured(self):
        made, _ = self.take(all_pairs(), [replay('pool', 1.25)], [replay('Peer B', 3)], others='Peer 2')
        pair, held = made['sections']
        self.assertEqual((pair['where']['driver'], pair['where']['date']), ('6.2', '2026-12-01'))
        self.assertEqual(held['rows'][0]['cells'], [1, [1.25, 1.25, 1.25], [3, 3, 3]])
        self.assertEqual(held['where']['runs'], '3 starts')

    def test_a_replay_of_one_start_or_with_work_has_keys_of_its_own(self):
        replays = [{**replay(name, 1.25), **replay(name, 1.25)['starts'][0]} for name in ('pool', 'Peer B')]
        for one in replays:
            del one['starts']
        replays[1]['work_ns'] = 1
        with open(f'{self.folder}/one.json', 'w', encoding='utf-8') as out:
            json.dump(replays, out)
        cells = results.Results(f'{self.folder}/one.json').cells
        self.assertEqual(cells['replay gpt: held ÷ in use, pass 1'], {'pool': [1.25, 1.25, 1.25]})
        self.assertEqual(cells['replay gpt, busy: ms, pass 1'], {'Peer B': [2, 2, 2]})

    def test_simulated_results_say_nothing_of_a_gpu(self):
        simulated = {**PAIR, 'id': 'at-home', 'title': 'At home', 'where': {**WHERE, 'driver': 'simulated'}}
        simulated['rows'] = [{**row, 'of': f'replay at: ms, pass {i}'} for i, row in enumerate(PAIR['rows'], 1)]
        at_home = [{**replay(subject, 1), 'trace': 'at', 'pass': number, 'driver_version': 'simulated'} for number in (1, 2)
                   for subject in ('streampool', 'Peer', 'floor')]
        for i, file in enumerate([at_home, all_pairs(), [replay('pool', 1)]]):
            with open(f'{self.folder}/{i}.json', 'w', encoding='utf-8') as out:
                json.dump(file, out)
        runs = [results.Results(f'{self.folder}/{i}.json') for i in (2, 1, 0)]
        made, _ = results.take({**PAGE, 'sections': [PAIR, simulated, HELD]}, runs, {'others': 'Peer 2'}, False)
        self.assertEqual([section['where']['driver'] for section in made['sections']], ['6.2', 'simulated', '5.1'])

    def test_a_section_of_which_cells_are_lacking_is_left_unless_gaps_are_wanted(self):
        made, told = self.take([replay('pool', 1.25)], others='Peer 2')
        self.assertEqual(made, PAGE)
        self.assertEqual(told, ['memory-held: left as it is, since 0.json lacks 1 of its cells: gpt: Peer, other form'])
        made, told = self.take([replay('pool', 1.25)], others='Peer 2', gaps=True)
        self.assertEqual(made['sections'][1]['rows'][0]['cells'], [1, [1.25, 1.25, 1.25], None])

    def test_what_has_no_place_is_an_error(self):
        self.refused('no section has rows of paris', [bench('1 KiB', 'streampool', 1, case='paris')])
        self.refused('the section a-pair has no column for Peers', all_pairs() + [bench('1 KiB', 'Peers', 1)])
        self.refused('no section has results of GPU', [bench('1 KiB', 'streampool', 1, simulated=True)])
        self.refused('no section has results of GPU', [bench('1 KiB', 'streampool', 1, case='sizes')])
        self.refused('has no results of', {'some': 'thing'})
        self.refused('has no results of', [])

    def test_what_nothing_says_is_asked_for(self):
        self.refused('name their versions', all_pairs(), driver='6.2', cuda='13.1', date='2026-12-01')
        self.refused('doesn\'t say its driver', all_pairs(), others='Peer 2')
        self.refused('doesn\'t say its date', all_pairs(), others='Peer 2', driver='6.2', cuda='13.1')


class Claims(unittest.TestCase):
    def complaints(self, old='', new=''):
        self.assertIn(old, README)
        return claims.complaints(README.replace(old, new), PAGE)

    def found(self, old, new, what):
        found = self.complaints(old, new)
        self.assertEqual(len(found), 1, found)
        self.assertIn(what, found[0])

    def test_a_page_that_says_what_was_measured_passes(self):
        self.assertEqual(self.complaints(), [])
        for old, new in ('78 ns', '77.8 ns'), ('**78 ns**', '78 ns'), ('Peer\'s |', 'Peer |'), ('of 1 KiB', 'of **1 KiB**'), ('2026-11-24.\n', '2026-11-24.'):
            self.assertEqual(self.complaints(old, new), [], new)

    def test_a_wrong_figure_is_found(self):
        self.found('78 ns', '77 ns', 'has 77, which #a-pair hasn\'t there')
        self.found('401', '402', 'has 402')
        self.found('500 ns', '501 ns', 'has 501')
        self.found('78 ns', '77.8 ns, 3 times', 'has 3,')

    def test_a_figure_of_another_row_or_column_is_found(self):
        self.found('401', '400', 'has 400')
        self.found('1 KiB', '1 MiB', 'has 1, which')
        self.found('78 ns', '78 µs', 'has 78, which')
        self.found('**78 ns**', '401 ns', 'has 401')

    def test_a_wrong_date_or_device_is_found(self):
        self.found('2026-11-25', '2026-11-23', 'says 2026-11-23, 2026-11-24, and #memory-held is of 2026-11-25')
        self.found('2026-11-25', 'lately', 'says 2026-11-24, and #memory-held is of 2026-11-25')
        for old, new in ('2026-11-24', '2026-11-23'), ('2026-11-24', 'lately'), ('one GPU', 'one of them'):
            self.assertGreater(len(self.complaints(old, new)), 1, new)

    def test_a_stale_link_is_found(self):
        self.found('#memory-held', '#memory', 'leads to #memory, which is no section')
        self.assertEqual(self.complaints('#memory-held', '#where-others-are-ahead'), [])

    def test_a_row_links_where_its_first_word_does(self):
        row = '| [a pair](docs/benchmarks.md#a-pair) of 1 KiB | **78 ns** | 401 ns |'
        short = row + '\n| takes: 1 MiB | 500 ns | 400 ns |'
        self.assertEqual(self.complaints(row, short), [])
        self.found(row, short.replace('400', '401'), 'has 401, which #a-pair hasn\'t there')
        self.found(row, short.replace('takes:', 'take:'), 'leads to no section, beside rows that do')


if __name__ == '__main__':
    unittest.main()
