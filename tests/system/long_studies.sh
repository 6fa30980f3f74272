# Every study of spec/studies in its small scale: swept, nothing left to do, and a score for every run in its report.

. tests/system/common.sh

small() {
    out=$work/$1
    ./longhand sweep "$1" --scale small --out "$out" &&
        ends_with 0 " 0 to do" ./longhand sweep "$1" --scale small --out "$out" &&
        ./longhand report "$out" &&
        grep -Eq '^([0-9]+) of \1 runs have a score' "$out/report-$1/report.txt"
}

for file in spec/studies/*.lua; do
    study=$(basename "$file" .lua)
    expect "$study" small "$study"
done
finish
