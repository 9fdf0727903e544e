// Plays the user and the browser: follows an authorization request through redirects and forms, signs in, consents, and stops at
// the redirect to the app.

const hops = 20;

// authorize returns the query parameters of the redirect to the app.
export async function authorize(start, redirectUrl, user) {
  const cookies = new Map();
  let request = { url: new URL(start), method: 'GET' };
  for (let i = 0; i < hops; i++) {
    const response = await fetch(request.url, {
      method: request.method,
      body: request.body,
      redirect: 'manual',
      headers: { cookie: [...cookies].map(([name, value]) => `${name}=${value}`).join('; ') },
    });
    keep(cookies, response);
    const page = await response.text();
    const location = response.headers.get('location');
    if (location) {
      const url = new URL(location, request.url);
      if (url.href.startsWith(redirectUrl)) return url.searchParams;
      request = { url, method: 'GET' };
    } else if (response.ok) {
      request = submit(page, request.url, user);
    } else {
      throw new Error(`${request.url.pathname} returned ${response.status}: ${page}`);
    }
  }
  throw new Error(`sign-in did not finish within ${hops} pages; last page: ${request.url}`);
}

// keep stores the cookies of a response and deletes expired ones.
function keep(cookies, response) {
  for (const line of response.headers.getSetCookie()) {
    const [pair, ...attributes] = line.split(';').map((part) => part.trim());
    const at = pair.indexOf('=');
    const expires = attributes.find((a) => /^expires=/i.test(a));
    if (expires && Date.parse(expires.slice('expires='.length)) < Date.now()) cookies.delete(pair.slice(0, at));
    else cookies.set(pair.slice(0, at), pair.slice(at + 1));
  }
}

// submit fills in the only form of a page.
function submit(page, base, user) {
  const form = /<form[^>]*\saction="([^"]+)"[^>]*>(.*?)<\/form>/s.exec(page);
  if (!form) throw new Error(`${base} has no form: ${page}`);
  const fields = new URLSearchParams();
  for (const [input] of form[2].matchAll(/<input[^>]*>/g)) {
    const name = /\sname="([^"]*)"/.exec(input)?.[1];
    if (name) fields.set(name, { login: user, password: 'any' }[name] ?? /\svalue="([^"]*)"/.exec(input)?.[1] ?? '');
  }
  return { url: new URL(form[1].replaceAll('&amp;', '&'), base), method: 'POST', body: fields };
}
