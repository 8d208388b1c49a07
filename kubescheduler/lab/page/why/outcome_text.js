// Where a decision sends the pod, in one line of text.

export function goesTo({ pod, host, message, release }) {
  return host ? `${pod} goes to ${host} by release ${release}.` : `${pod} by release ${release}: ${message}`;
}
