-- set: train.batch=0
-- set: model.width=72
-- set: eval.lengths.list={ 3, 2 }
-- Wrong values from the command line.
return {
  task = { kind = "bucket_sort" },
}
