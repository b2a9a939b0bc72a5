/** What Prometheus' own tool says of metrics, alert rules and dashboards. Every night: its first build takes minutes. */
import { mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { ALERTS, DASHBOARDS } from '../../scripts/observability/files.js';
import { openPromtool } from '../support/promtool.js';
import type { Promtool } from '../support/promtool.js';
import { servers } from '../support/servers.js';

let folder: string;
let promtool: Promtool;
beforeAll(async () => {
  folder = await mkdtemp(join(tmpdir(), 'drover-promtool-'));
  promtool = await openPromtool();
});
afterAll(async () => {
  await rm(folder, { recursive: true, force: true });
});

describe.each(['bridge', 'worker'] as const)('what the %s exports [S5.54]', (program) => {
  it('is well-formed to promtool', async () => {
    const page = await (await fetch(servers.endpoints.metrics[program] ?? '')).text();
    expect(page).toContain(`drover_ready{program="${program}"}`);
    const { text } = await promtool.run(['check', 'metrics'], page);
    // Node's own metrics were named by others, and so were some of Temporal's SDK.
    const ours = text.split('\n').filter((line) => line !== '' && !/^(nodejs|process|temporal)_/.test(line));
    expect(ours).toEqual([]);
  });
});

describe('alert rules', () => {
  it('are sound to promtool', async () => {
    const { code, text } = await promtool.run(['check', 'rules', '--lint=all', '--lint-fatal', ALERTS]);
    expect(text).toMatch(/SUCCESS: \d+ rules found/);
    expect(code, text).toBe(0);
  });

  it('fire when they should, and not otherwise', async () => {
    const { code, text } = await promtool.run(['test', 'rules', 'test/observability/alerts.test.yaml']);
    expect(code, text).toBe(0);
  });
});

describe('dashboards', () => {
  it('read by expressions that promtool can parse', async () => {
    const expressions = DASHBOARDS.flatMap(({ uid, rows }) =>
      rows.flatMap(({ panels }) =>
        panels.flatMap(({ queries }) =>
          queries.map(({ expr }, index) => ({
            record: `${uid.replaceAll('-', '_')}:${index}`,
            expr: expr.replaceAll('$__rate_interval', '5m'),
          })),
        ),
      ),
    );
    const file = join(folder, 'dashboards.yaml');
    await writeFile(file, stringify({ groups: [{ name: 'panels', rules: expressions }] }));
    const { code, text } = await promtool.run(['check', 'rules', '--lint=none', file]);
    expect(code, text).toBe(0);
    expect(text).toContain(`SUCCESS: ${expressions.length} rules found`);
  });
});
