# Prints the assembler's report on a trainer's kernels, saved by the build, in JSON lines: sh resources.sh NAME FOLDER
for log in "$2"/obj/images/sm_*.log; do
    architecture=$(basename "$log" .log)
    [ ! -f "$log" ] || awk -v run="$1" -v architecture="$architecture" -f tests/cuda/rows.awk <"$log"
done | awk '{
    printf "{\"name\":\"%s\",\"kernel\":\"%s\",\"architecture\":\"%s\",", $1, $2, $3
    printf "\"registers\":%d,\"stack\":%d,\"spill_stores\":%d,\"spill_loads\":%d}\n", $4, $5, $6, $7
}'
