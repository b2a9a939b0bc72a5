import { describe, expect, it } from 'vitest';
import { isConfigFile, refuseConfig } from './config-scan.js';

const scan = (text: string, name = 'main.tf') => refuseConfig([{ name, text }]);

describe('blocks that take state elsewhere are refused [T5.3]', () => {
  it.each([
    ['backend', 'terraform {\n  backend "s3" {\n    bucket = "b"\n  }\n}', 'BackendConflict', 2],
    ['cloud', 'terraform {\n  cloud {}\n}', 'BackendConflict', 2],
    ['encryption', 'terraform {\n  encryption {\n  }\n}', 'EncryptionUnsupported', 2],
    ['a quoted label with a bracket in it', 'terraform {\n  backend "{" {}\n}', 'BackendConflict', 2],
    ['a label without quotes', 'terraform {\n  backend local {}\n}', 'BackendConflict', 2],
    [
      'after a block of its own',
      'terraform {\n required_providers {}\n backend "s3" {}\n}',
      'BackendConflict',
      3,
    ],
    [
      'in the second block',
      'terraform {}\nvariable "x" {}\nterraform {\n backend "s3" {}\n}',
      'BackendConflict',
      4,
    ],
    ['after a comment in between', 'terraform /* { */ {\n  backend /* } */ "s3" {}\n}', 'BackendConflict', 2],
    [
      'after a text with brackets',
      'locals {\n  a = "}${"}"}"\n}\nterraform {\n  backend "s3" {}\n}',
      'BackendConflict',
      5,
    ],
    [
      'after a heredoc with brackets',
      'locals {\n a = <<-EOT\n  }}}\n  EOT\n}\nterraform {\n backend "s3" {}\n}',
      'BackendConflict',
      7,
    ],
    [
      'after a heredoc whose template has its marker',
      'locals {\n a = <<E\n${\nE\n}\nE\n}\nterraform {\n backend "s3" {}\n}',
      'BackendConflict',
      9,
    ],
    [
      'after a byte order mark, with line ends of Windows',
      '\uFEFFterraform {\r\n  backend "s3" {\r\n  }\r\n}',
      'BackendConflict',
      2,
    ],
    ['on one line', 'terraform { backend "s3" {} }', 'BackendConflict', 1],
    ['after an escaped quote', 'locals {\n  a = "\\"{"\n}\nterraform {\n  cloud {}\n}', 'BackendConflict', 5],
    [
      'after an escaped template',
      'locals {\n  a = "$${"\n}\nterraform {\n  cloud {}\n}',
      'BackendConflict',
      5,
    ],
  ])('%s', (_, text, reason, line) => {
    const refusal = scan(text);
    expect(refusal?.reason).toBe(reason);
    expect(refusal?.message).toContain(`main.tf, line ${line}: terraform has a block "`);
  });

  it.each([
    ['object', '{"terraform": {"backend": {"s3": {}}}}', 'BackendConflict'],
    ['list of objects', '{"terraform": [{}, {"cloud": {}}]}', 'BackendConflict'],
    ['list as the document', '[{"terraform": {"encryption": {}}}]', 'EncryptionUnsupported'],
    ['list in a list', '[{"terraform": [{"backend": [{"s3": {}}]}]}]', 'BackendConflict'],
    ['key that stands twice', '{"terraform": {"backend": {"s3": {}}}, "terraform": {}}', 'BackendConflict'],
    ['key with escapes', '{"terraform": {"back\\u0065nd": {"s3": {}}}}', 'BackendConflict'],
  ])('in JSON: %s', (_, text, reason) => {
    expect(scan(text, 'main.tf.json')?.reason).toBe(reason);
    expect(scan(text, 'main.tofu.json')?.reason).toBe(reason);
  });
});

describe('what only looks like such a block is none [T5.3]', () => {
  it.each([
    ['a comment', '# terraform {\n// backend "s3" {}\n/* terraform { cloud {} } */'],
    ['a heredoc', 'locals {\n  a = <<EOT\nterraform {\n  backend "s3" {}\n}\nEOT\n}'],
    ['a text', 'locals {\n  a = "terraform { backend \\"s3\\" {} }"\n}'],
    ['an attribute', 'terraform {\n  required_version = "1.0"\n  backend = {}\n}'],
    ['a resource', 'resource "backend" "terraform" {\n  backend {\n  }\n  cloud {}\n}'],
    ['a block inside a block', 'module "x" {\n  terraform {\n    backend "s3" {}\n  }\n}'],
    ['a map', 'locals {\n  terraform = {\n    backend = { s3 = {} }\n  }\n}'],
    [
      'a provider of that name',
      'terraform {\n  required_providers {\n    cloud = { source = "x/cloud" }\n  }\n}',
    ],
    ['a block header over two lines, which engines refuse', 'terraform\n{\n  backend "s3" {}\n}'],
  ])('%s', (_, text) => {
    expect(scan(text)).toBeUndefined();
  });

  it.each([
    [
      'a provider of that name',
      '{"terraform": {"required_providers": {"backend": {"source": "x/backend"}}}}',
    ],
    ['nothing', '{"terraform": {"backend": null}}'],
    ['a text', '{"locals": {"a": "{\\"terraform\\": {\\"backend\\": {}}}"}}'],
    ['no JSON, which is the engine to say', '{"terraform": '],
  ])('in JSON: %s', (_, text) => {
    expect(scan(text, 'main.tf.json')).toBeUndefined();
  });

  it.each(['.main.tf', 'main.tf~', '#main.tf#', 'main.tf.bak', 'README.md'])('a file %s', (name) => {
    expect(isConfigFile(name)).toBe(false);
    expect(scan('terraform {\n  cloud {}\n}', name)).toBeUndefined();
  });
});

it('brackets that are nested too deep to be followed are refused [T5.3]', () => {
  expect(scan(`locals {\n  a = ${'['.repeat(600)}\n}`)).toEqual({
    reason: 'InvalidConfiguration',
    message: 'main.tf: brackets are nested too deep to be looked through',
  });
});

it('a large file is looked through in time', () => {
  const text = 'resource "x" "y" {\n  a = "${b}" # {\n}\n'.repeat(20_000);
  expect(scan(`${text}terraform {\n cloud {}\n}`)?.message).toContain('line 60002');
});
