# Flaws that the tests must find, each for its REASON, a regular expression: sourced by run.sh.
planted data.test.js 'journey 2' 'TrustedHTML' app.js 'beat();' "beat(); document.body.innerHTML += '';"
planted data.test.js 'journey 2' 'inline style violates' app.js 'beat();' "beat(); document.body.setAttribute('style', 'color: red');"
planted data.test.js 'axe.*light, wide' 'aria-input-field-name' field.js "'aria-label': label, " ''
planted data.test.js 'axe.*light, a phone' ' 900 > 390' console.css '.bar { display: flex;' '.bar { display: flex; width: 900px;'
planted data.test.js 'text that is not saved' 'waiting for .*hasText: .unsaved' entry.js 'else drafts.set' 'else if (false) drafts.set'
planted data.test.js 'an entry is edited' 'waiting for getByText..changed by another client' entry.js "'If-Match': state.etag } });" '} });'
planted data.test.js 'any place' 'about the middle: ' pages.js 'share: start / this.total, ' ''
planted entry.test.js 'edited and taken back' '\[1.50,12345678901234567890\].* == ' value.js 'compact(text) !== text' 'false'
planted pages.test.js 'each page.*light, wide' 'AssertionError.*none,rgb' console.css '.line.s0 { stroke: var(--series-0); }' ''
planted phone.test.js 'journeys 1 to 4' 'at alone ' console.css 'border: 0; visibility: hidden;' 'border: 0;'
planted budget.test.js 'first load' '2[0-9] files, ' data.js "import { may," "import './entry.js'; import './list.js'; import { may,"
planted safety.test.js 'after 30 minutes' 'waiting for getByText..You were signed out' app.js 'const IDLE_MS = 30' 'const IDLE_MS = 90'
planted safety.test.js 'text of a new entry outlives signing out' "^ +'users/'," prefix.js 'kept = { key' 'false && { key'
planted budget.test.js 'a long list' 'at [0-9]+ of 1000000' pages.js 'share: start / this.total, ' ''
planted repair.test.js 'damage' 'waiting for .*, repaired' index.js '?repair=true' '?repair=false'
planted budget.test.js 'a build is shown' 'waiting for .*many_by_key.*progress' indexes.js 'this.follow();' ''
planted pages.test.js 'journey 9' '12345678901234567000' watch.js 'parse(data, true)' 'JSON.parse(data)'
planted pages.test.js 'opens at its top' 'AssertionError.* [1-9][0-9]* == 0' server.js '(first?.getBoundingClientRect().bottom <= innerHeight ? first : this.node)' 'first'
planted pages.test.js 'an address of no page' 'PAGES.id..scopes is not iterable' app.js 'Object.hasOwn(PAGES, id)' 'PAGES[id]'
planted pages.test.js 'a conflict shows' 'waiting for .*#confirm.*twice/a' duplicates.js '|| !await ask(kept, others)' ''
planted pages.test.js 'making the first token' 'waiting for getByText..You use me' access.js 'if (first && setToken(made.token)) await loadSession();' ''
planted find.test.js 'taken back within 30 seconds' 'AssertionError.*\{.n.:1\}|waiting for .*another client has written' entry.js "headers: { 'Content-Type': type, ...condition }" "headers: { 'Content-Type': type }"
planted find.test.js 'found by the e-mail' 'waiting for .*User7@x.org' search.js 'answers({ state, fields, prefix, store }) {' 'answers({ state, fields, prefix, store }) { return false;'
planted find.test.js 'a filter above a list' 'waiting for .*30 entries' filter.js 'if (date) return { ge: text, lt: next(date) };' ''
planted find.test.js 'a file of entries' 'waiting for .*2 entries stored, 2 lines' import.js "slice(line).join" "slice(line + 1).join"
planted find.test.js 'no late answer' 'AssertionError' search.js ' || document.activeElement !== this.box' ''
planted find.test.js 'takes no focus' 'AssertionError.*server' server.js 'if (!isTyping()) ' ''
planted rules.test.js 'declared by keyboard' 'waiting for .*Violations: 1' rules.js 'this.timer = setTimeout(() => this.attempt(), SETTLE_MS);' ''
planted entry.test.js 'a value folds' 'AssertionError.*12345678901234567000|waiting for .*12345678901234567890' field.js 'for (const line of format(text).' 'for (const line of JSON.stringify(JSON.parse(text), null, 2).'
planted queues.test.js 'stayed in their queue' 'waiting for .*Not retried: 1' queues.js '{ key: from, versionstamp: versionstampOf(entry) }, ' ''
planted find.test.js 'plots have' 'waitForFunction|AssertionError' server.js 'this.charts.forEach((chart) => chart.show(share))' 'this.charts[0].show(share)'
planted docs.test.js 'every language' 'AssertionError.*curl' docs.js "text.replaceAll(\"'\", \"'\\\\''\")" 'text'
planted docs.test.js 'found by any words' 'operations have these words|waiting for ' docs.js 'words.every(' 'words.some('
