/** Names of parameters, headers and the like that hold secrets. */
export const SECRET_NAME =
  /pass(word|wd|phrase)?$|passw|secret|token|credential|api-?_?key|private-?_?key|authorization|cookie/i;
