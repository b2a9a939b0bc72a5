import { totalmem } from 'node:os';
import { describe, expect, it } from 'vitest';
import { createProgramMetrics } from './program-metrics.js';
import { openSdkMetrics } from './sdk-metrics.js';

describe('what a program tells of itself', () => {
  it('is whether it is ready, its memory, and its keys once they could be read', async () => {
    let isReady = false;
    const metrics = createProgramMetrics({ program: 'worker', isReady: () => isReady });
    const line = async (name: string): Promise<string[]> =>
      (await metrics.page()).text.split('\n').filter((text) => text.startsWith(name));
    expect(await line('drover_ready')).toEqual(['drover_ready{program="worker"} 0']);
    isReady = true;
    expect(await line('drover_ready')).toEqual(['drover_ready{program="worker"} 1']);
    expect(await line('drover_build_info')).toEqual([
      expect.stringMatching(/^drover_build_info\{program="worker",version="\d+\.\d+\.\d+"\} 1$/),
    ]);
    const [limit = ''] = await line('drover_memory_limit_bytes');
    expect(Number(limit.split(' ')[1])).toBeGreaterThan(1e6);
    expect(Number(limit.split(' ')[1])).toBeLessThanOrEqual(totalmem());

    expect(await line('drover_seal_')).toEqual(['drover_seal_keys{program="worker"} 0']);
    const keys: [{ at: number }, { at: number }] = [{ at: 2000 }, { at: 1000 }];
    metrics.watchSealRing({ current: () => keys, knownAt: () => 5000 }, ({ at }) => new Date(at));
    expect(await line('drover_seal_')).toEqual([
      'drover_seal_keys{program="worker"} 2',
      'drover_seal_newest_key_timestamp_seconds{program="worker"} 2',
      'drover_seal_last_read_timestamp_seconds{program="worker"} 5',
    ]);
  });

  it('counts requests by resource, and only so many resources', async () => {
    const metrics = createProgramMetrics({ program: 'bridge', isReady: () => true });
    for (let n = 0; n < 300; n += 1)
      metrics.onExchange({ verb: 'get', resource: `kind${n}`, code: '200', seconds: 0.01 });
    metrics.onExchange({ verb: 'get', resource: 'kind0', code: '429', seconds: 0.2 });
    const { text } = await metrics.page();
    const series = text.split('\n').filter((line) => line.startsWith('drover_api_requests_total{'));
    expect(series).toHaveLength(202);
    expect(series).toContain(
      'drover_api_requests_total{program="bridge",verb="get",resource="other",code="200"} 100',
    );
    expect(series).toContain(
      'drover_api_requests_total{program="bridge",verb="get",resource="kind0",code="429"} 1',
    );
    expect(text).toContain('drover_api_request_seconds_count{program="bridge",verb="get"} 301');
  });
});

it("serves what is its own although the SDK's metrics cannot be read, and says so", async () => {
  const sdk = await openSdkMetrics();
  const { text } = await createProgramMetrics({ program: 'worker', isReady: () => true, sdk }).page();
  expect(text).toMatch(/^drover_ready\{program="worker"\} 1$/m);
  expect(text).toMatch(/^# metrics of Temporal's SDK cannot be read: .+$/m);
});
