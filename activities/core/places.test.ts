import { describe, expect, it } from 'vitest';
import { readPlace } from './places.js';

describe('readPlace', () => {
  it.each([
    ['temporal-frontend.temporal:7233', 'temporal-frontend.temporal', 7233],
    ['Temporal:07233', 'temporal', 7233],
    ['*.temporal.svc:8080', '*.temporal.svc', 8080],
    ['127.0.0.1:80', '127.0.0.1', 80],
    ['[::1]:80', '::1', 80],
    ['10.0.0.0/8:7243', '10.0.0.0/8', 7243],
    ['[fd00::/8]:7243', 'fd00::/8', 7243],
    ['https://ui.example.org', 'ui.example.org', 443],
    ['http://UI.example.org.:8233/namespaces', 'ui.example.org', 8233],
  ])('reads %s [F18]', (text, host, port) => expect(readPlace(text)).toEqual({ host, port }));

  it.each([
    '',
    'temporal',
    ':7233',
    '::1:7233',
    'a b:1',
    'x:0',
    'x:70000',
    'x:y',
    'ftp://x',
    'http://',
    'a/b:80',
  ])('does not read %s', (text) => expect(readPlace(text)).toBeUndefined());
});
