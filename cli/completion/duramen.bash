# Completion of duramen for bash. Ids are not completed: that would ask the store.

_duramen_files() {
  compopt -o filenames 2>/dev/null
  mapfile -t COMPREPLY < <(compgen -f -- "$1")
}

# sqlite:FILE or postgres://...
_duramen_address() {
  case "$1" in
    sqlite:*)
      _duramen_files "${1#sqlite:}"
      # Where bash takes words apart at colons, what stands before one is not replaced.
      [[ "$COMP_WORDBREAKS" == *:* ]] || COMPREPLY=("${COMPREPLY[@]/#/sqlite:}")
      ;;
    *:*) ;;
    *)
      compopt -o nospace 2>/dev/null
      COMPREPLY=($(compgen -W "sqlite: postgres://" -- "$1"))
      ;;
  esac
}

_duramen() {
  local commands="list show history tree explain kv start wait cancel raise enqueue delete prune stats nodes top doctor upgrade export import replay run version completion"
  local common="--store --json --yes --color --help"
  # Not COMP_WORDS: there bash has taken addresses apart at every colon.
  local line="${COMP_LINE:0:COMP_POINT}" words=()
  read -ra words <<<"$line"
  [[ "$line" != *[[:space:]] ]] || words+=("")
  local last=$((${#words[@]} - 1))
  local word="${words[last]}" before="${words[last - 1]}"
  local command="" options="" i
  for ((i = 1; i < last; ++i)); do
    case "${words[i]}" in
      --store | --color) ((++i)) ;;
      -*) ;;
      *) command="${words[i]}"; break ;;
    esac
  done

  COMPREPLY=()
  case "$before" in
    --store) _duramen_address "$word"; return ;;
    --status)
      # Several may be given, with commas.
      COMPREPLY=($(compgen -P "${word%"${word##*,}"}" -W "pending running cancelling completed failed cancelled continued-as-new open ended" -- "${word##*,}"))
      return ;;
    --sort) COMPREPLY=($(compgen -W "newest oldest" -- "$word")); return ;;
    --mode) COMPREPLY=($(compgen -W "graceful terminate" -- "$word")); return ;;
    --color) COMPREPLY=($(compgen -W "auto always never" -- "$word")); return ;;
    --log) COMPREPLY=($(compgen -W "debug info warning error" -- "$word")); return ;;
    --output | -o) _duramen_files "$word"; return ;;
    completion) COMPREPLY=($(compgen -W "bash zsh" -- "$word")); return ;;
  esac
  if [[ -z "$command" ]]; then
    COMPREPLY=($(compgen -W "$commands $common --version" -- "$word"))
    return
  fi
  case "$command" in
    list) options="--status --name --version --prefix --parent --roots --since --before --ended-before --limit --after --all --sort --results --ids" ;;
    show) options="" ;;
    history) options="--execution --all --follow" ;;
    tree) options="" ;;
    explain) options="--stuck-after --attempts" ;;
    kv) options="--wait --timeout" ;;
    start) options="--id --input --text --version --replace --create --by --wait --timeout" ;;
    wait) options="--timeout" ;;
    cancel) options="--status --name --version --prefix --parent --roots --since --before --ended-before --all --reason --by --mode --dry-run --limit" ;;
    raise) options="--data --text --message-id --by" ;;
    enqueue) options="--data --text --message-id --by" ;;
    delete) options="--status --name --version --prefix --parent --roots --since --before --ended-before --all --force --dry-run --limit" ;;
    prune) options="--status --name --version --prefix --parent --roots --since --before --ended-before --all --keep-last --older-than --dry-run --limit" ;;
    stats) options="" ;;
    nodes) options="" ;;
    top) options="--interval --rounds --rows" ;;
    doctor) options="--stuck-after --attempts --limit" ;;
    upgrade) options="--finish" ;;
    export) options="--status --name --version --prefix --parent --roots --since --before --ended-before --all --output" ;;
    import) options="--replace --dry-run --create" ;;
    replay) options="--status --name --version --prefix --parent --roots --since --before --ended-before --tolerate-inputs" ;;
    run) options="--node --threads --tag --deadline --log --create" ;;
    version) options="" ;;
    completion) options="" ;;
  esac
  if [[ "$word" == -* ]]; then
    COMPREPLY=($(compgen -W "$options $common" -- "$word"))
  elif [[ "$command" == run || "$command" == replay || "$command" == import ]]; then
    _duramen_files "$word"
  fi
}

complete -F _duramen duramen
