// The functions of CDAP's validator "core" (CoreValidator.java, on commons-validator), for scripts in V8.
// A function of (topLevels, cards): the top-level domains, and the patterns of credit cards.
(function (topLevels, cards) {
  'use strict';
  const known = new Set(topLevels), cardPatterns = cards.map(whole);
  const OCTET = '(?:25[0-5]|2[0-4][0-9]|1[0-9]{2}|[1-9]?[0-9])';
  const IPV4 = whole(OCTET + '(?:\\.' + OCTET + '){3}');
  const LABEL = '[a-zA-Z0-9](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?';
  const DOMAIN = whole('(?:' + LABEL + '\\.)+([a-zA-Z](?:[a-zA-Z0-9-]{0,61}[a-zA-Z0-9])?)\\.?');
  const WORD = '(?:[^\\s\\x00-\\x1f\\x7f()<>@,;:\'\\\\".\\[\\]]|\')+';
  const USER = whole('"(?:\\\\"|[^"])*"|' + WORD + '(?:\\.' + WORD + ')*');
  const URL = /^(?:([^:/?#]+):)?(?:\/\/([^/?#]*))?([^?#]*)(?:\?([^#]*))?(?:#([^]*))?$/;
  const AUTHORITY = whole('(?:[a-zA-Z0-9%._~!$&\'()*+,;=-]+(?::[a-zA-Z0-9%._~!$&\'()*+,;=-]*)?@)?'
    + '(?:\\[([0-9a-fA-F:]+)\\]|([\\w.-]*))(?::(\\d*))?');
  const PATH = whole('(?:/[-\\w:@&?=+,.!*\'%$_;()~]*)*/?');
  const GROUPED = whole('(?:97[89][ -]?)?\\d{1,5}[ -]\\d{1,7}[ -]\\d{1,6}[ -][0-9X]');
  const DATE = /^\s*(\d+)\/(\d+)\/(\d+)\s*$/;

  function whole(pattern) { return new RegExp('^(?:' + pattern + ')$'); }
  function text(value) { return value === null || value === undefined ? '' : String(value); }
  function isTop(name) { return known.has(text(name).replace(/^\./, '').toLowerCase()); }
  function isCountry(name) { return isTop(name) && text(name).replace(/^\./, '').length === 2; }
  function isInfrastructure(name) { return text(name).replace(/^\./, '').toLowerCase() === 'arpa'; }
  function isDomain(name) {
    const found = name.length <= 253 ? DOMAIN.exec(name) : null;
    return found !== null && isTop(found[1]);
  }
  function isIpv4(address) { return IPV4.test(text(address)); }
  function isIpv6(given) {
    let address = text(given);
    if (address.replace('::', '').includes('::') || address.includes('%')) return false;
    const last = address.lastIndexOf(':'), tail = address.slice(last + 1);
    if (last >= 0 && tail.includes('.')) {
      if (!isIpv4(tail)) return false;
      address = address.slice(0, last) + ':0:0';
    }
    const groups = address.split('::');
    const parts = groups.flatMap(group => group === '' ? [] : group.split(':'));
    if (!parts.every(part => /^[0-9a-fA-F]{1,4}$/.test(part))) return false;
    return groups.length === 1 ? parts.length === 8 : parts.length < 8;
  }
  function isEmail(given) {
    const address = text(given), at = address.lastIndexOf('@');
    if (at < 0 || at > 64 || !USER.test(address.slice(0, at))) return false;
    const host = address.slice(at + 1);
    if (host.startsWith('[') && host.endsWith(']')) return isIpv4(host.slice(1, -1)) || isIpv6(host.slice(1, -1));
    return isDomain(host) && !host.endsWith('.');
  }
  function isAuthority(given) {
    const found = AUTHORITY.exec(given);
    if (found === null || Number(found[3] || 0) > 65535) return false;
    return found[1] !== undefined ? isIpv6(found[1]) : isIpv4(found[2]) || isDomain(found[2]);
  }
  function climbs(path) {
    let depth = 0;
    for (const part of path.split('/').slice(1)) {
      depth += part === '..' ? -1 : part === '' || part === '.' ? 0 : 1;
      if (depth < 0) return true;
    }
    return path.includes('//');
  }
  function isUrl(given) {
    const found = URL.exec(text(given));
    if (found === null || !['http', 'https', 'ftp'].includes((found[1] || '').toLowerCase())) return false;
    return isAuthority(found[2] || '') && PATH.test(found[3]) && !climbs(found[3]);
  }
  function isDate(given) {
    const found = DATE.exec(text(given));
    if (found === null) return false;
    const [month, day] = [Number(found[1]), Number(found[2])];
    const year = found[3].length === 2 ? expand(Number(found[3])) : Number(found[3]);
    const made = new Date(0);
    made.setUTCFullYear(year, month - 1, day);
    return year > 0 && year < 10000 && made.getUTCMonth() === month - 1 && made.getUTCDate() === day;
  }
  function expand(short) {  // Java: from 80 years before now to 20 years after it
    const now = new Date().getUTCFullYear(), near = now - now % 100 + short;
    return near > now + 20 ? near - 100 : near <= now - 80 ? near + 100 : near;
  }
  function luhn(digits) {
    let sum = 0;
    for (let at = 0; at < digits.length; at++) {
      const value = Number(digits[digits.length - 1 - at]) * (1 + at % 2);
      sum += value > 9 ? value - 9 : value;
    }
    return sum % 10 === 0;
  }
  function isIsbn(given) {
    const trimmed = text(given).trim(), code = GROUPED.test(trimmed) ? trimmed.replace(/[ -]/g, '') : trimmed;
    const weigh = weight => [...code].reduce((sum, c, at) => sum + weight(at) * (c === 'X' ? 10 : Number(c)), 0);
    if (/^[0-9]{9}[0-9X]$/.test(code)) return weigh(at => 10 - at) % 11 === 0;
    return /^97[89][0-9]{10}$/.test(code) && weigh(at => at % 2 ? 3 : 1) % 10 === 0;
  }
  function fits(bits) {
    const limit = 1n << BigInt(bits - 1);
    return given => {
      const value = text(given);
      if (!/^[+-]?[0-9]{1,30}$/.test(value)) return false;
      const number = BigInt(value.replace(/^\+/, ''));
      return number >= -limit && number < limit;
    };
  }
  return Object.freeze({
    isDate,
    isCreditCard: card => cardPatterns.some(pattern => pattern.test(text(card))) && luhn(text(card)),
    isBlankOrNull: value => text(value).trim() === '',
    isEmail,
    isInRange: (value, min, max) => value >= min && value <= max,
    isInt: fits(32),
    isLong: fits(64),
    isShort: fits(16),
    isUrl,
    matchRegex: (pattern, value) => value !== null && value !== undefined && whole(pattern).test(String(value)),
    maxLength: (value, max) => text(value).length <= max,
    minLength: (value, min) => text(value).length >= min,
    maxValue: (value, max) => value <= max,
    minValue: (value, min) => value >= min,
    isValidISBN: isIsbn,
    isValidInet4Address: isIpv4,
    isValidInet6Address: isIpv6,
    isValidIp: address => isIpv4(address) || isIpv6(address),
    isValidCountryCodeTid: isCountry,
    isValidGenericTId: name => isTop(name) && !isCountry(name) && !isInfrastructure(name),
    isValidInfrastructureTId: isInfrastructure,
    isValidLocalTId: name => ['localhost', 'localdomain'].includes(text(name).replace(/^\./, '').toLowerCase()),
    isValidTId: isTop,
  });
})
