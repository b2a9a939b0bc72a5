import { describe, expect, it } from 'vitest';
import { chooseEngine, compareEngineVersions, type FoundEngine } from './engine.js';

const engine = (name: FoundEngine['name'], version: string, path = `/${name}-${version}`): FoundEngine => ({
  name,
  version,
  path,
});
const found = [
  engine('terraform', '1.9.8'),
  engine('terraform', '1.11.4'),
  engine('terraform', '1.12.0-rc1'),
  engine('opentofu', '1.12.6'),
  engine('terraform', '1.11.4', '/second'),
];

describe('the engine of a workspace [T2.4]', () => {
  it.each([
    ['terraform', 'latest', '/terraform-1.11.4'],
    ['terraform', '1.9.8', '/terraform-1.9.8'],
    ['terraform', '1.12.0-rc1', '/terraform-1.12.0-rc1'],
    ['opentofu', 'latest', '/opentofu-1.12.6'],
  ] as const)('%s %s', (name, version, path) => {
    expect(chooseEngine(found, { name, version })).toMatchObject({ engine: { path } });
  });

  it('is not found where none fits, and then it is said what there is', () => {
    expect(chooseEngine(found.slice(0, 1), { name: 'terraform', version: '1.9' })).toEqual({
      reason: 'EngineNotFound',
      message:
        'no terraform 1.9 from 1.1.0 on in DROVER_ENGINES or on the PATH; found: terraform 1.9.8 (/terraform-1.9.8)',
    });
    expect(chooseEngine([], { name: 'opentofu', version: 'latest' })).toMatchObject({
      message: 'no opentofu from 1.1.0 on in DROVER_ENGINES or on the PATH; found: no engine',
    });
    expect(
      chooseEngine([engine('terraform', '1.0.11')], { name: 'terraform', version: 'latest' }),
    ).toMatchObject({ reason: 'EngineNotFound' });
  });
});

it('versions are in order', () => {
  const inOrder = ['0.15.5', '1.0.0', '1.2.0-alpha', '1.2.0-rc2', '1.2.0-rc10', '1.2.0', '1.10.0'];
  expect([...inOrder].reverse().sort(compareEngineVersions)).toEqual(inOrder);
});
