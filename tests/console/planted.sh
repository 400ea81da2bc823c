# Flaws that the tests must find: sourced by run.sh.
planted data.test.js 'journey 2' app.js 'beat();' "beat(); document.body.innerHTML += '';"
planted data.test.js 'journey 2' app.js 'beat();' "beat(); document.body.setAttribute('style', 'color: red');"
planted data.test.js 'axe.*light, wide' field.js "'aria-label': label, " ''
planted data.test.js 'text that is not saved' entry.js 'else drafts.set' 'else if (false) drafts.set'
planted data.test.js 'an entry is edited' entry.js "'If-Match': state.etag } });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;
      if (error.status === 412) return this.compare();" "} });
    } catch (error) {
      if (!(error instanceof Problem)) throw error;"
planted data.test.js 'any place' pages.js 'if (!fits)' 'if (false)'
planted data.test.js 'axe.*phone' console.css '.bar { display: flex;' '.bar { display: flex; min-width: 900px;'
