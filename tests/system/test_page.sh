# The page of a report in a headless Chromium: light and dark, wide and narrow, printed, by keyboard and pointer,
# without a network. The runs are synthetic.

. tests/system/common.sh

LUA=${LUA:-lua5.4}

are_written() {
    "$LUA" tests/browser/write_runs.lua "$work/runs" &&
        ends_with 1 "1 run is damaged" "$LUA" generator/main.lua report "$work/runs" --out "$work/report" &&
        one=$work/runs/bucket_sort_rope/0123456789abcdef/lr0.001-seed &&
        "$LUA" generator/main.lua report "${one}0" "${one}1" --out "$work/two" >/dev/null || [ $? -eq 4 ]
}

expect pages_are_written are_written
if ! command -v "$PYTHON" >/dev/null 2>&1; then
    echo "skip pages in a browser: $PYTHON is not installed"
else
    "$PYTHON" -B tests/browser/check_page.py "$work/report/index.html" "$work/two/index.html"
    case $? in
        0) ;;
        2) echo "skip pages in a browser: chromium-headless-shell, or another Chromium, is not installed" ;;
        *) failures=$((failures + 1)) ;;
    esac
fi
finish
