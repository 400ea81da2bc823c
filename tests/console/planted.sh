# Flaws that the tests must find: sourced by run.sh.
planted data.test.js 'journey 2' app.js 'beat();' "beat(); document.body.innerHTML += '';"
planted data.test.js 'journey 2' app.js 'beat();' "beat(); document.body.setAttribute('style', 'color: red');"
planted data.test.js 'axe.*light, wide' field.js "'aria-label': label, " ''
planted data.test.js 'axe.*light, a phone' console.css '.bar { display: flex;' '.bar { display: flex; width: 900px;'
planted data.test.js 'text that is not saved' entry.js 'else drafts.set' 'else if (false) drafts.set'
planted data.test.js 'an entry is edited' entry.js "'If-Match': state.etag } });" '} });'
planted data.test.js 'any place' pages.js 'share: start / this.total, ' ''
planted entry.test.js 'edited and taken back' value.js 'compact(text) !== text' 'false'
planted pages.test.js 'each page.*light, wide' console.css '.line.s0 { stroke: var(--series-0); }' ''
planted phone.test.js 'journeys 1 to 4' console.css 'border: 0; visibility: hidden;' 'border: 0;'
planted budget.test.js 'first load' data.js "import { may," "import './entry.js'; import './list.js'; import { may,"
planted safety.test.js 'after 30 minutes' app.js 'const IDLE_MS = 30' 'const IDLE_MS = 90'
planted safety.test.js 'text of a new entry outlives signing out' prefix.js 'kept = { key' 'false && { key'
planted budget.test.js 'a long list' pages.js 'share: start / this.total, ' ''
planted repair.test.js 'damage' index.js '?repair=true' '?repair=false'
planted budget.test.js 'a build is shown' indexes.js 'this.follow();' ''
planted pages.test.js 'journey 9' watch.js 'parse(data, true)' 'JSON.parse(data)'
planted pages.test.js 'opens at its top' server.js '(first?.getBoundingClientRect().bottom <= innerHeight ? first : this.node)' 'first'
planted pages.test.js 'an address of no page' app.js 'Object.hasOwn(PAGES, id)' 'PAGES[id]'
planted pages.test.js 'a conflict shows' duplicates.js '|| !await ask(kept, others)' ''
planted pages.test.js 'making the first token' access.js 'if (first && setToken(made.token)) await loadSession();' ''
