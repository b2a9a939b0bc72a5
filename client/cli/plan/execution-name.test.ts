import { describe, expect, it } from 'vitest';
import { executionName } from './execution-name.js';

describe('names of new executions', () => {
  it('begin with the plan and end with five characters', () => {
    expect(executionName('web', 'Execute')).toMatch(/^web-[a-z0-9]{5}$/);
    expect(executionName('web', 'Revert')).toMatch(/^web-revert-[a-z0-9]{5}$/);
  });

  it('stay short and valid for a long plan name', () => {
    const name = executionName('a'.repeat(200), 'Revert');
    expect(name.length).toBeLessThanOrEqual(46);
    expect(name).toMatch(/^[a-z0-9-]+$/);
  });
});
